"""The cluster's pool of Aggregators: its part of the server, of the API and of the pages."""
