"""A thin raw client: connections, leaders and coordinators, raw batches in and out.

For whatever moves batches without looking into them: pipelines on Spark, mirroring, tools, tests.
`connection` carries messages, `cluster` knows whom to ask, and `offsets`, `fetching`, `producing`
and `group_offsets` are what callers use. Everything blocks, and everything is bounded in time.
Single records belong to librdkafka, not here.
"""
