"""Labs: short exercises, each a story that checks its own outcome.

    python -m examples.labs               runs them all and prints a summary
    python -m examples.labs --list        names them
    python -m examples.labs.single_node   runs one, on a broker of its own

A lab is one module with a function `story`, which is told on a stage: a broker, three brokers with
their ZooKeeper, or a broker with the Schema Registry and the REST Proxy. Labs that share a stage
have topics and groups of their own, and leave the stage as they found it.
`docs/guides/start/labs.md` lists them all.
"""
