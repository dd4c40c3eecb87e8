"""A schema that a command is given: its text, its format, and what it refers to.

The format is told by `--type`, or else by the end of the file's name. References are named as
`NAME=SUBJECT:VERSION`; their texts are fetched only where a command compares schemas itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.parameters import argument, option
from headrace.cli.small_files import read_text

MAX_SCHEMA_BYTES: Final = 10 << 20
_SUFFIXES: Final = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}


class Type(StrEnum):
    """What `--type` takes."""

    AVRO = "avro"
    JSON = "json"
    PROTOBUF = "protobuf"


FileArgument: TypeAlias = Annotated[str, argument("FILE", "The schema; - reads standard input.")]
TypeOption: TypeAlias = Annotated[
    Type | None, option("--type -t", "Schema type. Default: from the file name, else avro.")
]
ReferenceOption: TypeAlias = Annotated[
    list[str],
    option("--reference NAME=SUBJECT:VERSION", "A reference to another subject; may be repeated."),
]


class Draft(NamedTuple):
    """A schema before it is registered."""

    type: str
    text: str
    references: tuple[dict[str, Any], ...]

    def as_request(self) -> dict[str, Any]:
        """The body that the registry takes."""
        request: dict[str, Any] = {"schema": self.text, "schemaType": self.type}
        if self.references:
            request["references"] = list(self.references)
        return request


def read_draft(path: str, given: Type | None, references: Sequence[str]) -> Draft:
    """The schema in a file."""
    schema_type = given.value.upper() if given else _SUFFIXES.get(Path(path).suffix, "AVRO")
    text = read_text(path, f"the schema {path}", failure=Failure, max_bytes=MAX_SCHEMA_BYTES)
    return Draft(schema_type, text, tuple(map(parse_reference, references)))


def parse_reference(text: str) -> dict[str, Any]:
    """`NAME=SUBJECT:VERSION` as the registry takes it; the subject may hold colons."""
    name, _, target = text.partition("=")
    subject, _, version = target.rpartition(":")
    if not name or not subject or not (version.isascii() and version.isdigit()):
        raise WrongUsage(
            f'--reference "{text}" is not a reference', "write --reference NAME=SUBJECT:VERSION"
        )
    return {"name": name, "subject": subject, "version": int(version)}
