"""The REST API of Connect's workers, as those of Kafka 4.3 have it: one module per noun.

Each noun is a table of endpoints that are plain functions. They decide nothing: they ask the
`Worker`, which may wait, in threads beside the event loop. `bodies` has what is sent and answered,
`call` what a handler gets, `errors` how faults are answered, `forwarding` how a request reaches the
worker that must answer it, `service` puts all of it together.
"""
