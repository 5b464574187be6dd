"""How fast a job is on which GPUs, and how its model is divided among its servers."""
