"""One reason why data of a writer's schema cannot be read with a reader's schema.

The three checkers report these, and the registry turns them into the texts of its answers. Which
of the two schemas is the new one depends on the direction of the check, so a description says
`{reader}` and `{writer}`, and whoever knows the direction fills them in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DIFFERENT_TYPES: Final = "DIFFERENT_SCHEMA_TYPES"
"""The one kind that is ours: Confluent reports a changed format as a bare sentence."""


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """`kind` is Confluent's name; `path` is where, in the reader's schema.

    `before` and `after` show the writer's and the reader's text of the place, cut to a line.
    `additional_info` is what Confluent's Avro messages carry besides; the messages of the other
    formats have no such part, which None says.
    """

    kind: str
    path: str
    description: str
    before: str = ""
    after: str = ""
    additional_info: str | None = None


def message(found: Incompatibility, *, reader: str, writer: str) -> str:
    """The text that Confluent's registry gives, for instance with reader `new`, writer `old`."""
    description = describe(found, reader=reader, writer=writer)
    if found.kind == DIFFERENT_TYPES:
        return description
    if found.additional_info is None:
        return f'{{errorType:"{found.kind}", description:"{description}"}}'
    return (
        f"{{errorType:'{found.kind}', description:'{description}', "
        f"additionalInfo:'{found.additional_info}'}}"
    )


def describe(found: Incompatibility, *, reader: str, writer: str) -> str:
    """The description, with words for the two schemas."""
    # Names from the schema may hold braces, so this replaces and does not format.
    return found.description.replace("{reader}", reader).replace("{writer}", writer)
