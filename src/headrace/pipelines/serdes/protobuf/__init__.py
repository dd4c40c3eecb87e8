"""Protobuf messages over Arrow: descriptors, the columns they become, and the kernels.

`descriptors` finds a message in a descriptor set; `messages` maps it to columns as spark-protobuf
does and to tables that the kernels read; `decode_kernel` and `encode_kernel` run over the wire
format; the `decoder` and the `encoder` hold all of that together for arrays of values.
"""
