"""Record batches to Arrow columns and back, at the speed of compiled code.

`schema` names the columns as Spark's own Kafka source has them. `decode` turns fetched batches into
rows, `encode` turns rows into the payloads of batches, `partitioner` says where a key belongs. Each
of them prepares tables of numbers in Python and leaves the bytes to kernels that numba compiles:
`record_reader`, `record_writer` and `murmur2`, written in the few words of `native`.

numba costs most of a second to import, so it is imported with the first batch, not before, and the
compiled kernels are kept on disk beside their source (or in the user's cache folder where that is
read-only). Nothing here knows brokers, sockets or Spark.
"""
