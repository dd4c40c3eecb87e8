"""Avro values over Arrow: schemas, their resolution, and the kernels that run over the bytes.

`schema` reads a schema into plain nodes; `columns` maps it to Arrow as spark-avro does;
`resolution` compiles a (writer, reader) pair to a program of `opcodes`; `decode_kernel` and
`encode_kernel` run programs; the `decoder` and the `encoder` hold all of that together for arrays
of values.

The kernels are compiled once for all schemas: a new schema costs a few milliseconds, no compiler.
"""
