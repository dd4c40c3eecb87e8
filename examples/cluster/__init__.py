"""Labs that need several brokers: each is one command, tells what happens, and ends by itself.

    python -m examples.cluster.three_brokers
    python -m examples.cluster.failover
    python -m examples.cluster.more_replicas
    python -m examples.cluster.decommission
    python -m examples.cluster.replace_broker

All but the first start three brokers and their ZooKeeper on free ports; the first does it by hand,
from three server.properties. The commands that a lab shows are the installed ones.
"""
