"""Jobs of Kubernetes clusters, as `kubectl get -o json` prints them."""
