"""Avro values over Arrow: columns, programs, and the kernels that run over the bytes.

Schemas and their resolution are those of `headrace.schemas.avro`. `columns` maps a schema to Arrow
as spark-avro does; `program` compiles a (writer, reader) pair to a program of `opcodes`;
`decode_kernel` and `encode_kernel` run programs; the `decoder` and the `encoder` hold all of that
together for arrays of values.

The kernels are compiled once for all schemas: a new schema costs a few milliseconds, no compiler.
"""
