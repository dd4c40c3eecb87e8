"""REST Proxy: Kafka over HTTP, for whatever has no Kafka client.

`app` builds the application and serves it; `context` has what every route shares. The versions of
the API live in `v1`, `v2` and `v3`, and what only Headrace offers in `live`. A broker is reached
over the wire alone.
"""
