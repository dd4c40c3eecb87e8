"""Where records move: tasks in threads, between a connector's system and topics.

A loop per kind of task (`source_loop`, `sink_loop`) knows when offsets may be kept;
`source_records` and `sink_records` take batches through converters and transforms; `tolerance`
decides what a fault of a record means; `output` writes to topics.
"""
