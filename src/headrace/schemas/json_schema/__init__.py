"""JSON Schema, drafts 4, 6, 7, 2019-09 and 2020-12.

`parse` turns text into a :class:`JsonSchema` that validates values, and `incompatibilities` says
what stops one schema from reading the data of another. The package fetches nothing: a `$ref` leads
into the document itself, into a reference that came with it, or into a draft's own meta-schema.
"""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility import incompatibilities
from headrace.schemas.json_schema.schema import JsonSchema, parse

__all__ = ["JsonSchema", "incompatibilities", "parse"]
