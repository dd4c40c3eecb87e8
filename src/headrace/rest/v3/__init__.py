"""REST Proxy v3: the cluster as resources with links, and records as a stream of JSON objects."""
