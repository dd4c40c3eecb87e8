"""The layer that every HTTP service stands on: an endpoint is declared once, with its types.

    table = Table(tag="Subjects", gives=MEDIA_TYPES, reader=Role.READ_ONLY, writer=Role.DEVELOPER)

    @table.post("/subjects/{subject}", "Look up a schema", query=(NORMALIZE,),
                body=RegisterSchemaRequest, reply=Schema, errors=(40401, 42201))
    def look_up(call: Call) -> Schema: ...

From this come the route, the bounded reading and the decoding of the body, the choice of media
types, the check of the user's role, the encoding of the reply, and the description in OpenAPI. A
service is a `Service`: its endpoints, how a fault becomes an answer, where a handler runs, its
health, its gauges, and what is done when it starts and stops.

    endpoint, call, service     what is declared, what a handler gets, what a service says of itself
    resource                    one path: from a request to an answer, in a fixed order of checks
    bodies, negotiation         bounded bodies and their values; media types of both directions
    faults, refusals            why a request is rejected, and how that is answered
    openapi, exposition         the description of all endpoints; Prometheus' text format
    entrance, gate, sign_in     what every request passes first: Host, Origin, the user
    application, running        the parts put together; a process that serves until it is stopped

No route of any service is known here, and no Kafka.
"""
