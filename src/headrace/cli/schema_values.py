"""Keys and values that a schema of a registry describes: decoded to be shown, encoded to be sent.

    FORMAT      consume                                          produce
    avro …      the record names its schema, of that type        the latest of TOPIC-value, or an id
    json        JSON text, or a record that names a JSON Schema  JSON text, or an id
    auto        decoded where a schema is named, else text       by whichever type the schema is of

The registry is asked when the first record needs it, and once for each schema. Bytes that look like
the id of a schema may be anything: what the registry does not know is not asked for again, and if
no registry answers, `auto` prints them as text and says so once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.lines import warn
from headrace.cli.record_text import (
    Encoding,
    Face,
    Json,
    Pack,
    Record,
    Shown,
    parse_json,
    plain_face,
    plain_pack,
)
from headrace.cli.schema.registry import UNREACHABLE, open_client

if TYPE_CHECKING:
    from headrace.client.registry import RegistryRefused, Serdes
    from headrace.client.registry.cache import Cache
    from headrace.schemas.model import SchemaType

_FRAME_BYTES: Final = 5
_MISSING: Final = 404
_SCHEMA_MISSING: Final = 40403
_MISSING_KEPT: Final = 10_000
_MISSING_S: Final = 60.0
"""An instance of a registry may hear of a schema later than the record's producer."""


class Format(StrEnum):
    """What `--key-format` and `--value-format` take."""

    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"
    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    AUTO = "auto"


_WITH_SCHEMA: Final = (Format.JSON, Format.AVRO, Format.PROTOBUF, Format.AUTO)


class SchemaValues:
    """The registry of one command; use as a context manager."""

    def __init__(self, url: str, properties: Mapping[str, str]) -> None:
        self._url = url
        self._properties = properties
        self._silent = False

    @cached_property
    def _serdes(self) -> Serdes:
        from headrace.client.registry import Serdes

        return Serdes(open_client(self._url, self._properties))

    @cached_property
    def _missing(self) -> Cache[bytes, bool]:
        """Frames that name a schema which the registry did not know a moment ago."""
        from headrace.client.registry.cache import Cache

        return Cache(_MISSING_KEPT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        if "_serdes" in self.__dict__:
            self._serdes.registry.close()

    # -- showing ----------------------------------------------------------------------------------

    def face(self, form: Format, *, is_key: bool) -> Face:
        """How keys, or values, of this format are shown."""
        if form not in _WITH_SCHEMA:
            return plain_face(Encoding(form))
        from headrace.schemas.framing import KEY_SCHEMA_ID_HEADER, VALUE_SCHEMA_ID_HEADER

        header_name = KEY_SCHEMA_ID_HEADER if is_key else VALUE_SCHEMA_ID_HEADER
        without_schema = {
            Format.JSON: plain_face(Encoding.JSON),
            Format.AUTO: plain_face(Encoding.TEXT),
        }.get(form)

        def show(record: Record, data: bytes) -> Shown:
            header = schema_id_header(record.headers, header_name)
            if without_schema is not None and header is None and not _looks_framed(data):
                return without_schema(record, data)
            if form is Format.AUTO and self._is_text(data, header):
                return data
            return self._decode(record, data, header, form, is_key)

        return show

    def _is_text(self, data: bytes, header: bytes | None) -> bool:
        """Whether it is known already that nothing can be decoded here."""
        if self._silent and header is None:
            return True
        return self._missing.get(_frame(data, header)) is not None

    def _decode(
        self, record: Record, data: bytes, header: bytes | None, form: Format, is_key: bool
    ) -> Shown:
        from headrace.client.registry import RegistryRefused, RegistryUnreachable
        from headrace.schemas.model import InvalidSchema, InvalidValue

        part = "key" if is_key else "value"
        try:
            return Json(self._serdes.decode(data, header=header, expected=_schema_type(form)).value)
        except RegistryUnreachable as error:
            if form is not Format.AUTO or header is not None:
                raise Failure(str(error), UNREACHABLE) from None
            self._silent = True
            warn(
                f"{error}; what begins like the id of a schema is printed as text, "
                f"first the {part} at {record.topic}-{record.partition} offset {record.offset}"
            )
            return data
        except (RegistryRefused, InvalidValue, InvalidSchema) as error:
            if isinstance(error, RegistryRefused):
                if error.http_status != _MISSING:
                    raise self._refused(error) from None
                self._missing.put(_frame(data, header), True, _MISSING_S)
            if form is Format.AUTO:
                return data
            raise Failure(
                f"the {part} at {record.topic}-{record.partition} offset {record.offset} cannot be "
                f"decoded as {form.value} ({error})",
                f"--{part}-format auto decodes any schema, and prints other records as they are",
            ) from None

    # -- sending ----------------------------------------------------------------------------------

    def pack(self, form: Format, topic: str, *, is_key: bool, schema_id: int | None) -> Pack:
        """The bytes of keys, or values, of this format; the schema is found before any is sent."""
        part = "key" if is_key else "value"
        if schema_id is not None and form is Format.TEXT:
            form = Format.AUTO
        if form not in _WITH_SCHEMA or (form is Format.JSON and schema_id is None):
            if schema_id is not None:
                raise WrongUsage(
                    f"--{part}-schema-id and --{part}-format {form.value} exclude each other",
                    f"use --{part}-format auto",
                )
            return plain_pack(Encoding(form))
        return self._pack(form, topic, is_key=is_key, schema_id=schema_id)

    def _pack(self, form: Format, topic: str, *, is_key: bool, schema_id: int | None) -> Pack:
        from headrace.client.registry import RegistryRefused, RegistryUnreachable, SchemaChoice
        from headrace.schemas.model import InvalidSchema, InvalidValue

        choice = SchemaChoice(type=_schema_type(form), schema_id=schema_id)
        try:
            writer = self._serdes.writer(topic, is_key, choice)
        except RegistryUnreachable as error:
            raise Failure(str(error), UNREACHABLE) from None
        except InvalidSchema as error:
            raise Failure(str(error), "use the format of the schema, or auto") from None
        except RegistryRefused as error:
            if error.http_status != _MISSING:
                raise self._refused(error) from None
            part = "key" if is_key else "value"
            if schema_id is not None:
                raise self._explain_id(error, schema_id, f"{topic}-{part}") from None
            raise Failure(
                f'subject "{topic}-{part}" has no schema',
                f'register one with "headrace schema register {topic}-{part} FILE", '
                f"or name one with --{part}-schema-id",
            ) from None

        def pack(given: Shown) -> bytes:
            value = given.value if isinstance(given, Json) else parse_json(given)
            try:
                return writer.encode(value)
            except InvalidValue as error:
                raise Failure(
                    f"it does not fit schema {writer.schema_id} ({error})", "correct the value"
                ) from None

        return pack

    def _explain_id(self, error: RegistryRefused, schema_id: int, subject: str) -> Failure:
        """The id is not known, or known but not of this subject; the code may be the same."""
        if self._knows(schema_id):
            said = error.message.rstrip(".")
            return Failure(said, f'register it under {subject} with "headrace schema register"')
        if error.error_code == _SCHEMA_MISSING:
            return Failure(
                f"there is no schema {schema_id}", 'see "headrace schema list" for the ids'
            )
        return self._refused(error)

    def _knows(self, schema_id: int) -> bool:
        from headrace.client.registry import RegistryRefused

        try:
            self._serdes.registry.schema(schema_id)
        except RegistryRefused:
            return False
        return True

    def _refused(self, error: RegistryRefused) -> Failure:
        return Failure(str(error), "check --registry and the -X options of the registry's client")


def schema_id_header(headers: object, name: str) -> bytes | None:
    """The header that names the schema of a bare payload; the last one counts."""
    pairs: list[tuple[str, bytes | None]] = list(headers or ())  # type: ignore[call-overload]
    return next((value for key, value in reversed(pairs) if key == name), None)


def _looks_framed(data: bytes) -> bool:
    """A zero byte and the id of a schema, which are numbered from 1."""
    if len(data) < _FRAME_BYTES or data[0] != 0:
        return False
    return int.from_bytes(data[1:_FRAME_BYTES], "big", signed=True) > 0


def _frame(data: bytes, header: bytes | None) -> bytes:
    """What names the schema of a record."""
    return data[:_FRAME_BYTES] if header is None else header


def _schema_type(form: Format) -> SchemaType | None:
    from headrace.schemas.model import SchemaType

    return None if form is Format.AUTO else SchemaType(form.value.upper())
