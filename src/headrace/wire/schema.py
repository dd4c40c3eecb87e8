"""How a protocol message is declared: one class for all versions of it.

    @struct
    class FetchPartition:
        partition: Int32
        current_leader_epoch: Int32 = v(9, default=-1)
        ...

    @request(key=1, versions="4-18", flexible=12)
    class FetchRequest:
        cluster_id: str | None = tagged(0, since=12, default=None)
        max_wait_ms: Int32
        topics: list[FetchTopic]
        ...

The decorated class is an ordinary slotted, keyword-only dataclass; mypy checks it as such. Fields
stand in the order of the wire. A field without `v` exists in every version; one that does not must
have a default, which a reader finds where the version did not carry the field.

`X | None` is a field that may be null on the wire, from the version named by `nullable` on. The
exception is a tagged struct, all of whose fields have defaults: it is never null, it is left out,
and None stands for that. A tagged struct that can really be null is declared `nullable`: it is
never left out, because Kafka takes one that is missing for an empty one.

`@data` declares what has versions but is no message of its own: the keys and values of internal
topics, and what consumers tell each other inside requests. Whoever holds it knows its version.

This module knows nothing of bytes. Annotations are resolved on first use, so that importing a
message costs no more than creating its dataclasses.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    TypeAlias,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from headrace.types import Buffer

from .types import BYTES, TEXT, Blob, Fixed, Kind, Text

T = TypeVar("T")
C = TypeVar("C", bound=type)

Encoder: TypeAlias = Callable[[Any], list[Buffer]]
Decoder: TypeAlias = Callable[[bytes | bytearray, int, memoryview], tuple[Any, int]]

LAST_VERSION: Final = (1 << 15) - 1
NEVER: Final = LAST_VERSION + 1
MISSING: Final = dataclasses.MISSING

_API_VERSIONS_KEY: Final = 18
_NO_API_KEY: Final = -1


class MessageInfo:
    """What the protocol says of a whole message, kept on its class as `__wire__`."""

    __slots__ = (
        "decoders",
        "encoders",
        "flexible",
        "is_request",
        "is_strict",
        "key",
        "name",
        "response_header_flexible",
        "versions",
    )

    def __init__(
        self, name: str, *, key: int, versions: range, flexible: int, is_request: bool
    ) -> None:
        self.name = name
        self.key = key
        self.versions = versions
        self.flexible = flexible
        self.is_request = is_request
        # Responses come from brokers of our own choice, and may lose what a version cannot carry.
        # For all else there is a limit to what is read, and what is written must not lose meaning.
        self.is_strict = is_request or key == _NO_API_KEY
        # A client must be able to read this answer before it knows any version of the broker, so
        # ApiVersions is answered with the oldest header in every version (KIP-511).
        self.response_header_flexible = NEVER if key == _API_VERSIONS_KEY else flexible
        # Compiled functions by version; filled by `compiler`.
        self.encoders: dict[int, Encoder] = {}
        self.decoders: dict[int, Decoder] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a message as the compilers see it."""

    name: str
    kind: Kind
    is_array: bool
    since: int
    until: int
    nullable_since: int
    tag: int | None
    ignorable: bool
    default: Any
    may_be_kept: bool

    def present(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable(self, version: int) -> bool:
        return version >= self.nullable_since

    @property
    def is_fixed(self) -> bool:
        """Whether the field is one value of constant size."""
        return isinstance(self.kind, Fixed) and not self.is_array

    @property
    def is_nullable_struct(self) -> bool:
        """Whether the field is one struct that is led by a marker, because it may be null."""
        is_struct = isinstance(self.kind, type) and not self.is_array
        return is_struct and self.nullable(LAST_VERSION)

    def item(self) -> FieldSpec:
        """One item of this array; items are never null."""
        return dataclasses.replace(self, is_array=False, nullable_since=NEVER)


@overload
def v(
    since: int = ...,
    until: int = ...,
    *,
    default: T,
    nullable: int = ...,
    ignorable: bool = ...,
) -> T: ...
@overload
def v(
    since: int = ...,
    until: int = ...,
    *,
    nullable: int = ...,
    ignorable: bool = ...,
    may_be_kept: bool = ...,
) -> Any: ...
def v(
    since: int = 0,
    until: int = LAST_VERSION,
    *,
    default: Any = MISSING,
    nullable: int = 0,
    ignorable: bool = False,
    may_be_kept: bool = False,
) -> Any:
    """A field of versions `since` to `until`, both included.

    `nullable` is the first version in which an optional field may be null. `ignorable` concerns
    requests: the field may be lost without a word when the version cannot carry it. A list that
    `may_be_kept` may be a `Kept`, whose bytes are written once.
    """
    metadata = {"since": since, "until": until, "nullable": nullable, "ignorable": ignorable}
    metadata["may_be_kept"] = may_be_kept
    return _dataclass_field(default, metadata)


def tagged(
    tag: int, *, since: int, default: T, nullable: bool = False, ignorable: bool = False
) -> T:
    """A field of the tag buffer of flexible versions: left out while it has its default.

    `nullable` concerns structs: null is written out, and a missing struct is read as None too.
    """
    metadata = {"since": since, "tag": tag, "nullable": since, "ignorable": ignorable}
    metadata["is_marked"] = nullable
    field: T = _dataclass_field(default, metadata)
    return field


def _dataclass_field(default: Any, metadata: dict[str, Any]) -> Any:
    if isinstance(default, list):
        return dataclasses.field(default_factory=list, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, field_specifiers=(v, tagged))
def struct(cls: C) -> C:
    """Declare a part of a message; it lives in the versions of the message that holds it."""
    # Tags that a newer peer sends and we do not know are kept here and sent on.
    cls.__annotations__["unknown_tags"] = "dict[int, bytes] | None"
    cls.unknown_tags = dataclasses.field(default=None)  # type: ignore[attr-defined]
    # A dataclass would compile these three for every class: most of what importing hundreds of
    # messages costs, of which a process makes a few.
    cls.__init__ = _init_at_first_use  # type: ignore[misc]
    cls.__eq__ = _equals  # type: ignore[assignment, method-assign]
    cls.__repr__ = _shows  # type: ignore[assignment, method-assign]
    cls.__hash__ = None  # type: ignore[assignment]
    as_dataclass = dataclasses.dataclass(slots=True, kw_only=True, init=False, eq=False, repr=False)
    declared: Any = as_dataclass(cls)
    return cast(C, declared)


def _init_at_first_use(self: Any, **values: Any) -> None:
    cls = type(self)
    cls.__init__ = _compile_init(cls)
    cls.__init__(self, **values)


def _compile_init(cls: type) -> Callable[..., None]:
    """`__init__` as a dataclass has it: every field by its name, a list of its own by default."""
    names: dict[str, Any] = {"missing": MISSING}
    parameters, body = ["self", "*"], []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        if field.default_factory is not MISSING:
            parameters.append(f"{name}=missing")
            value = f"[] if {name} is missing else {name}"
        elif field.default is not MISSING:
            names[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        else:
            parameters.append(name)
        body.append(f"    self.{name} = {value}")
    source = "\n".join([f"def __init__({', '.join(parameters)}):", *body])
    exec(source, names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _equals(self: Any, other: Any) -> Any:  # a bool, or NotImplemented
    if type(other) is not type(self):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _shows(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in self.__slots__ if name != "unknown_tags")
    return f"{type(self).__qualname__}({', '.join(shown)})"


@dataclass_transform(kw_only_default=True, field_specifiers=(v, tagged))
def request(*, key: int, versions: str, flexible: int = NEVER) -> Callable[[C], C]:
    """Declare a request: its API key, the versions it has, the first that is flexible."""
    return _message(key, versions, flexible, is_request=True)


@dataclass_transform(kw_only_default=True, field_specifiers=(v, tagged))
def response(*, key: int, versions: str, flexible: int = NEVER) -> Callable[[C], C]:
    """Declare a response: its API key, the versions it has, the first that is flexible."""
    return _message(key, versions, flexible, is_request=False)


@dataclass_transform(kw_only_default=True, field_specifiers=(v, tagged))
def data(*, versions: str, flexible: int = NEVER) -> Callable[[C], C]:
    """Declare something with versions that has no API key."""
    return _message(_NO_API_KEY, versions, flexible, is_request=False)


def _message(key: int, versions: str, flexible: int, *, is_request: bool) -> Callable[[C], C]:
    first, _, last = versions.partition("-")
    span = range(int(first), int(last or first) + 1)

    def declare(cls: C) -> C:
        message = struct(cls)
        message.__wire__ = MessageInfo(  # type: ignore[attr-defined]
            cls.__name__, key=key, versions=span, flexible=flexible, is_request=is_request
        )
        return message

    return declare


def info(cls: type) -> MessageInfo:
    """What was declared of a request, a response or data."""
    declared: MessageInfo = cls.__wire__  # type: ignore[attr-defined]
    return declared


@cache
def fields_of(cls: type) -> tuple[FieldSpec, ...]:
    """The fields of a message or struct in the order of the wire."""
    hints = get_type_hints(cls, vars(sys.modules[cls.__module__]), include_extras=True)
    return tuple(
        _field_spec(cls, field, hints[field.name])
        for field in dataclasses.fields(cls)
        if field.name != "unknown_tags"
    )


def _field_spec(cls: type, field: dataclasses.Field[Any], hint: Any) -> FieldSpec:
    hint, is_optional = _strip_none(hint)
    is_array = get_origin(hint) is list
    kind = _kind(get_args(hint)[0] if is_array else hint)
    since = field.metadata.get("since", 0)
    until = field.metadata.get("until", LAST_VERSION)
    tag = field.metadata.get("tag")
    default = [] if field.default_factory is not MISSING else field.default
    if default is MISSING and (since > 0 or until < LAST_VERSION):
        raise TypeError(f"{cls.__name__}.{field.name} is not in every version: give it a default")
    is_struct = isinstance(kind, type) and not is_array
    is_left_out = tag is not None and is_struct and not field.metadata["is_marked"]
    nullable = field.metadata.get("nullable", 0) if is_optional and not is_left_out else NEVER
    return FieldSpec(
        name=field.name,
        kind=kind,
        is_array=is_array,
        since=since,
        until=until,
        nullable_since=nullable,
        tag=tag,
        ignorable=field.metadata.get("ignorable", False),
        default=default,
        may_be_kept=field.metadata.get("may_be_kept", False),
    )


def _strip_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) is Annotated or type(None) not in get_args(hint):
        return hint, False
    (inner,) = (arg for arg in get_args(hint) if arg is not type(None))
    return inner, True


def _kind(hint: Any) -> Kind:
    if get_origin(hint) is Annotated:
        kind: Fixed | Blob | Text = get_args(hint)[1]
        return kind
    if hint is str:
        return TEXT
    if hint is bytes:
        return BYTES
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint
    raise TypeError(f"{hint!r} has no form on the wire: use the types of headrace.wire.types")
