"""The broker's eyes: what it counts, by the names of Kafka's metrics, for Prometheus.

`declaration` says what a metric is, the modules beside it declare them (name, type, help, labels,
how to read it), `catalogue` lists them all, `endpoint` serves them. A metric is read when it is
asked for and never before: nothing here runs on the way of a request.

Nothing of this package is loaded by a broker whose `metrics.listener` is empty.
"""
