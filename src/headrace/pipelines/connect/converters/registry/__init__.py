"""Avro, Protobuf and JSON Schema with schemas of a registry, mapped as Confluent's converters do.

`converter` frames values and finds or registers schemas; each format has one module that maps
schemas and one that maps values.
"""
