"""Schemas as values: parse, compare, encode and decode Avro, JSON Schema and Protobuf.

Everything here is pure: text and bytes in, values out. The room knows neither the registry's
subjects and versions (a reference arrives resolved) nor any transport. Each format lives in a
package of its own with the same two functions, `parse` and `incompatibilities`; `formats` picks
the package, and imports it only when a schema of its kind is met, because the libraries behind
them are heavy.
"""
