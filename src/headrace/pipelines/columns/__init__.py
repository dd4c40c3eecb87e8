"""Record batches to Arrow columns and back, at the speed of compiled code.

`schema` names the columns as Spark's own Kafka source has them. `decode` turns fetched batches into
rows, `encode` turns rows into the payloads of batches, `partitioner` says where a key belongs. Each
of them prepares numbers in Python and leaves the bytes to `kernels`, which numba compiles.

numba takes half a second to import and some more to compile, so it comes with the first batch, not
before, and what it compiled is kept on disk beside the source (or in the user's cache folder where
that is read-only). Nothing here knows brokers, sockets or Spark.
"""
