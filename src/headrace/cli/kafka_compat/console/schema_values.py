"""Keys and values with schemas as Confluent's formatters print them, one JSON per value.

Avro is printed in its JSON encoding (a union's value is tagged with its branch), Protobuf in the
JSON mapping with default values, JSON as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.kafka_compat.clients import is_true, open_registry, unescaped
from headrace.cli.kafka_compat.console.formatter import DefaultFormatter, Formatter, Show, Shows
from headrace.cli.kafka_compat.console.formatters import (
    AVRO,
    JSON_SCHEMA,
    PROTOBUF,
    plain_shows,
)
from headrace.cli.schema_values import schema_id_header
from headrace.errors import HeadraceError
from headrace.schemas.framing import KEY_SCHEMA_ID_HEADER, VALUE_SCHEMA_ID_HEADER
from headrace.schemas.model import SchemaType

if TYPE_CHECKING:
    from headrace.client.registry import Serdes

_TYPES: Final = {
    AVRO: SchemaType.AVRO,
    JSON_SCHEMA: SchemaType.JSON,
    PROTOBUF: SchemaType.PROTOBUF,
}


class UnknownSchema(HeadraceError):
    """A record names a schema that the registry does not have: the record's fault, not ours."""


@contextmanager
def open_schema_formatter(class_name: str, properties: Mapping[str, str]) -> Iterator[Formatter]:
    """The formatter, and the registry that it asks, for as long as the block runs."""
    from headrace.client.registry import Serdes

    schema_type = _TYPES[class_name]
    ids = unescaped(properties.get("schema.id.separator", "\t"))
    id_separator = ids if is_true(properties, "print.schema.ids") else None
    with closing(open_registry(properties)) as registry:
        serdes = Serdes(registry)
        plain = plain_shows(properties)
        key = (
            plain.key
            if "key.deserializer" in properties
            else _show(serdes, schema_type, KEY_SCHEMA_ID_HEADER, id_separator)
        )
        value = _show(serdes, schema_type, VALUE_SCHEMA_ID_HEADER, id_separator)
        yield DefaultFormatter(properties, Shows(key, value, plain.header))


def _show(
    serdes: Serdes, schema_type: SchemaType, header_name: str, id_separator: str | None
) -> Show:
    from headrace.client.registry import RegistryRefused

    def show(message: Any, data: bytes) -> bytes:
        header = schema_id_header(message.headers(), header_name)
        try:
            decoded = serdes.decode(data, header=header, expected=schema_type)
        except RegistryRefused as refused:
            if refused.http_status == 404:
                raise UnknownSchema(str(refused)) from None
            raise
        text = json.dumps(decoded.value, separators=(",", ":"), ensure_ascii=False)
        if id_separator is not None:
            shown = decoded.schema_id if decoded.schema_id is not None else decoded.guid
            text += f"{id_separator}{shown}"
        return text.encode()

    return show
