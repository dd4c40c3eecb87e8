"""The old way to read a topic: a receiver takes records in, and batches are made of what it holds.

`blocks.py` keeps what was received in the memory of several executors, `write_ahead_log.py` on a
disk as well if that is asked for, `receiver.py` moves records from a consumer group into them and
acknowledges what is safe. It is here to show its weaknesses: it loses data without the log when the
driver dies, and repeats data with it.
"""
