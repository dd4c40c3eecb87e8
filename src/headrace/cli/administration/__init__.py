"""A cluster as an administrator sees it: what there is, what to change, and how to ask for it.

Commands under our own names and those under Kafka's share these modules. Everything is asked over
the wire without librdkafka: it has no call for reassignments, and a tool that a script runs a
hundred times should start at once.
"""
