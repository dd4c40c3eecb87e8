"""Values of JSON's types to serialized messages and back, by Protobuf's own JSON mapping."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import json_format, message_factory
from google.protobuf.message import DecodeError, EncodeError, Error

from headrace.schemas.model import InvalidValue

MAX_DEPTH: Final = 100
_LISTS: Final = ("google.protobuf.ListValue", "google.protobuf.Value")


def encode(pool: Any, name: str, value: object) -> bytes:
    """The serialized message `name` of a value; both names of a field are understood."""
    message = _new(pool, name)
    if isinstance(value, list) and name not in _LISTS:
        raise InvalidValue(f"the value, a list, does not fit {name}: it must be an object")
    try:
        json_format.ParseDict(value, message, descriptor_pool=pool, max_recursion_depth=MAX_DEPTH)
        return bytes(message.SerializeToString())
    except json_format.ParseError as error:
        raise InvalidValue(f"the value does not fit {name}: {error}") from None
    except EncodeError as error:
        raise InvalidValue(f"the value does not fit {name}: {_missing(message) or error}") from None
    except (Error, TypeError, AttributeError, ValueError, RecursionError) as error:
        # The library takes a value apart before it asks what it is.
        kind = type(value).__name__
        raise InvalidValue(f"the value, a {kind}, does not fit {name}: {error}") from None


def decode(pool: Any, name: str, data: bytes, *, preserve_field_names: bool) -> object:
    """The value of a serialized message `name`."""
    message = _new(pool, name)
    try:
        message.ParseFromString(bytes(data))
    except DecodeError as error:
        raise InvalidValue(f"the bytes are not a message {name}: {error}") from None
    if missing := _missing(message):
        raise InvalidValue(f"the bytes are not a whole message {name}: {missing}")
    try:
        return json_format.MessageToDict(
            message,
            always_print_fields_with_no_presence=True,
            preserving_proto_field_name=preserve_field_names,
            descriptor_pool=pool,
        )
    except (Error, json_format.Error, TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"the message {name} has no JSON form: {error}") from None


def _new(pool: Any, name: str) -> Any:
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()


def _missing(message: Any) -> str:
    lacking = message.FindInitializationErrors()
    return f"required fields are missing: {', '.join(lacking)}" if lacking else ""
