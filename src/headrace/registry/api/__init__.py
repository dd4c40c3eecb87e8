"""The HTTP API: one module per noun, each a table of endpoints that are plain functions.

`endpoint` says what the registry adds to an endpoint, `call` what a handler gets, `bodies` how it
is decoded, `service` where it runs and how errors are answered; `door` stands in front of them all.
The endpoints decide nothing: they pass values on to the operations, which know no HTTP.
"""
