"""State machines on internal topics: consumer groups on `__consumer_offsets`, transactions on
`__transaction_state`.

A shard is the state of one partition of such a topic. Its `handle_*` and `on_*` methods read state
and return `Effects`; the records among them are appended to the partition, `replay` applies them,
live and at load, and the replies leave once they are committed. Nothing here knows of sockets,
clocks or logs: time is an argument, timers are data.
"""
