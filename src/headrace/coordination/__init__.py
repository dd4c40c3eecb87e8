"""The tree of cluster state: what ZooKeeper offers, as a small blocking protocol.

A node has a path, some bytes and a version that grows with every write. `tree` declares the
protocol, `memory` serves simulations, `sqlite` one broker that needs nothing but Python, and
`zookeeper` the brokers of a cluster. This room refuses to know what the bytes mean:
`headrace.cluster.store` does.
"""
