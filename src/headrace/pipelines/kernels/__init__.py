"""What the compiled code of all rooms has in common.

`compilation` turns functions into kernels and keeps them on disk; `memory` has addresses and
arrays as kernels see them; `varints` are the numbers that records, Avro and Protobuf share. What a
kernel is for is not known here.
"""
