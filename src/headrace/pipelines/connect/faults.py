"""What goes wrong in Connect, under the names that Connect has for it.

Clients, dead letter queues and status traces name an exception by its Java class, so each class
here carries that name. Who catches decides by kind: a `RetriableException` may be tried again,
every other fault of a record is a matter of `errors.tolerance`.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import ClassVar

_CONNECT = "org.apache.kafka.connect.errors."


class ConnectException(Exception):
    """The base of what Connect reports."""

    java_class: ClassVar[str] = _CONNECT + "ConnectException"


class DataException(ConnectException):
    """A record does not fit its schema, or what is asked of it."""

    java_class = _CONNECT + "DataException"


class SchemaBuilderException(DataException):
    """A schema that cannot be."""

    java_class = _CONNECT + "SchemaBuilderException"


class SchemaProjectorException(DataException):
    """A record cannot be read under another schema."""

    java_class = _CONNECT + "SchemaProjectorException"


class RetriableException(ConnectException):
    """The same call may succeed later."""

    java_class = _CONNECT + "RetriableException"


class NotFoundException(ConnectException):
    """No connector, task or plugin has that name."""

    java_class = _CONNECT + "NotFoundException"


class AlreadyExistsException(ConnectException):
    """A connector of that name exists."""

    java_class = _CONNECT + "AlreadyExistsException"


class BadRequestException(ConnectException):
    """A request that cannot be right, whatever the state of the cluster."""

    java_class = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"


class RebalanceNeededException(ConnectException):
    """The cluster is about to rebalance; the same request may succeed afterwards."""

    java_class = "org.apache.kafka.connect.runtime.distributed.RebalanceNeededException"


class ConnectRestException(ConnectException):
    """A request that is answered with this code of HTTP."""

    java_class = "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException"

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class ConfigException(Exception):
    """A setting is missing, or has a value that it cannot have."""

    java_class: ClassVar[str] = "org.apache.kafka.common.config.ConfigException"

    @classmethod
    def of(cls, name: str, value: object, reason: str | None = None) -> ConfigException:
        """In the words in which Kafka rejects a value."""
        told = f": {reason}" if reason else ""
        return cls(
            f"Invalid value {'null' if value is None else value} for configuration {name}{told}"
        )


class IllegalArgumentException(Exception):
    """What Connect's own plugins report by Java's general class."""

    java_class: ClassVar[str] = "java.lang.IllegalArgumentException"


class SerializationException(Exception):
    """Bytes that are not what their converter expects, or a value that it cannot write."""

    java_class: ClassVar[str] = "org.apache.kafka.common.errors.SerializationException"


def java_class(fault: BaseException) -> str:
    """The name under which `fault` is reported: Connect's for its own, Python's for any other."""
    named = getattr(type(fault), "java_class", None)
    kind = type(fault)
    return named if isinstance(named, str) else f"{kind.__module__}.{kind.__qualname__}"
