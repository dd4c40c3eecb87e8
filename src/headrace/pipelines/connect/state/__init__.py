"""What a cluster of workers remembers: the records of its three topics, and what a replay gives.

Every module here is pure. A log takes keys and values in the order of the topic and has the state
that follows; who reads and writes the topics is elsewhere.
"""
