"""Groups on `__consumer_offsets`: committed offsets, and members who share the work of reading.

`shard` is one partition and everything in it. `classic` and `consumer` are the two kinds of groups;
the `offset_*` modules serve both. `records` and `protocol` are the formats.
"""
