"""Connect: data in and out of topics by configuration alone.

`model`, `converters`, `transforms`, `config`, `state` and `herder` decide without threads,
sockets, clocks or Spark; `host` moves records, `worker` answers for many hosts, `connectors` know
the systems at the other end. `headrace.connect` is what people who write connectors import.
"""
