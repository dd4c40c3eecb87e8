"""Rows into topics: at least once, or exactly once by one transaction per task and batch.

`options` and `schema` say no before a query starts. In a worker, `routing` names a partition for
each row, `delivery` makes payloads of the rows, and `attempt` wraps them into the protocol by which
a repeated batch is found out; `writer` is all of this in the shape that Spark asks for.
docs/guides/spark/spark-sink.md tells why a reader of committed records sees each row once.
"""
