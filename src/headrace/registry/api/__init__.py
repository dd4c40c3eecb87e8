"""The HTTP API: one module per noun, each a list of endpoints that are plain functions.

`endpoint` says what an endpoint is, `call` what it gets, `media_types` and `bodies` read requests
and write answers, `resource` ties them together for one path, `door` stands in front of them all.
The endpoints decide nothing: they pass values on to the operations, which know no HTTP.
"""
