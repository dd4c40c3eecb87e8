"""Headrace beside Apache Kafka, on this machine, in one run: `python -m benchmarks`.

Absolute numbers describe a machine. A ratio taken in alternation, with the same clients, describes
the two brokers; so ratios are all that this package claims.
`docs/guides/operate/benchmarks.md` says how to read them.
"""
