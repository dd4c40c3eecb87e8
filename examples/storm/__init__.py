"""A small record-at-a-time runtime in the manner of Storm, for the examples that need one.

`topology.py` wires spouts and bolts, `acker.py` knows which records are done, `cluster.py` runs
them, `kafka_spout.py` reads a topic. Everything of a worker happens in one thread, one record after
the other; more workers share the partitions of a topic as a consumer group does.
"""
