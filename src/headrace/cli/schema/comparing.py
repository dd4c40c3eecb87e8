"""Two schemas side by side, by the same rules that the registry has.

The registry decides whether a schema may be registered, and says why in sentences. To show the
path, the rule and both texts, a command parses the schemas itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headrace.cli.schema.contents import AVRO
from headrace.cli.schema.registry import Registry
from headrace.schemas.formats import incompatibilities, parse
from headrace.schemas.incompatible import Incompatibility
from headrace.schemas.model import ParsedSchema, Reference, SchemaType

OLD, NEW = "old", "new"


class Breach(NamedTuple):
    """One rule that the new schema breaks, as a person reads it: old before, new after."""

    version: int
    rule: str
    path: str
    description: str
    before: str
    after: str


def parse_fetched(server: Registry, found: Mapping[str, Any]) -> ParsedSchema:
    """A schema as the registry describes it, with everything that it refers to."""
    references = [
        Reference(each["name"], each["subject"], int(each["version"]))
        for each in found.get("references") or ()
    ]
    schema_type = SchemaType(found.get("schemaType", AVRO))
    return parse(schema_type, found["schema"], server.client.resolve(references))


def breaches(
    old: ParsedSchema, new: ParsedSchema, version: int, *, level: str, lenient: bool
) -> list[Breach]:
    """What a level forbids between a version and its successor."""
    found: list[Breach] = []
    if level.startswith(("BACKWARD", "FULL")):
        told = incompatibilities(new, old, lenient=lenient)
        found += (_breach(each, version, reader=NEW, writer=OLD) for each in told)
    if level.startswith(("FORWARD", "FULL")):
        told = incompatibilities(old, new, lenient=lenient)
        found += (_breach(each, version, reader=OLD, writer=NEW) for each in told)
    return found


def _breach(found: Incompatibility, version: int, *, reader: str, writer: str) -> Breach:
    # Names from a schema may hold braces, so this replaces and does not format.
    description = found.description.replace("{reader}", reader).replace("{writer}", writer)
    texts = {writer: found.before, reader: found.after}
    return Breach(version, found.kind, found.path, description, texts[OLD], texts[NEW])


def breach_rows(found: Sequence[Breach]) -> list[dict[str, object]]:
    return [each._asdict() for each in found]
