"""A Redis server, asked by redis-py: commands in one go, each with its own answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import redis
from redis import exceptions

from headrace.pipelines.connect.connectors.redis.settings import Access
from headrace.pipelines.connect.faults import ConnectException, RetriableException

Command: TypeAlias = tuple[str | bytes | int, ...]
Entry: TypeAlias = tuple[str, Mapping[str, str]]

_REFUSED: Final = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_PASSING: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
)
_PASSING_WORDS: Final = ("NOREPLICAS", "MISCONF", "BUSY ")
"""Of servers that take no command now: too few replicas, a disk without room, a long script."""


class RedisServer:
    """A client of the server."""

    def __init__(self, access: Access) -> None:
        self._where = f"{access.host}:{access.port}"
        self._client = redis.Redis(
            host=access.host,
            port=access.port,
            db=access.database,
            username=access.username,
            password=None if access.password is None else access.password.clear,
            ssl=access.tls,
            socket_timeout=access.timeout_s,
            socket_connect_timeout=access.timeout_s,
        )

    def run(self, commands: Sequence[Command]) -> list[str | None]:
        """Run commands; for each why the server does not take it, or None."""
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        try:
            answers = pipeline.execute(raise_on_error=False)
        except exceptions.RedisError as fault:
            raise self._failed(fault) from fault
        found: list[str | None] = []
        for answer in answers:
            if isinstance(answer, exceptions.ResponseError) and not _is_general(answer):
                found.append(str(answer))
            elif isinstance(answer, exceptions.RedisError):
                raise self._failed(answer) from answer
            else:
                found.append(None)
        return found

    def read(self, after: Mapping[str, str], most: int, wait_ms: int) -> dict[str, list[Entry]]:
        """Entries of streams behind these ids; waits for the first."""
        places: dict[Any, Any] = {**after}  # redis-py's types also fit other kinds of clients
        try:
            answer: Any = self._client.xread(places, count=most, block=wait_ms)
        except exceptions.RedisError as fault:
            raise self._failed(fault) from fault
        pairs = answer.items() if isinstance(answer, dict) else answer or ()
        return {_text(stream): [_entry(each) for each in found] for stream, found in pairs}

    def last_id(self, stream: str) -> str:
        """The id of a stream's last entry."""
        try:
            found: Any = self._client.xrevrange(stream, count=1)
        except exceptions.RedisError as fault:
            raise self._failed(fault) from fault
        return _text(found[0][0]) if found else "0-0"

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _failed(self, fault: exceptions.RedisError) -> ConnectException:
        if isinstance(fault, _REFUSED):
            return ConnectException(
                f"Redis at {self._where} does not accept the client: {fault}; check the password"
            )
        if _passes(fault):
            return RetriableException(f"Redis at {self._where} cannot serve now: {fault}")
        if "NOAUTH" in str(fault):
            return ConnectException(f"Redis at {self._where} wants a password: {fault}")
        return ConnectException(f"Redis at {self._where} answers: {fault}")


def _is_general(fault: exceptions.ResponseError) -> bool:
    """Whether a fault is not the command's own."""
    elsewhere = isinstance(fault, exceptions.MovedError)  # a cluster: all its keys are spread
    return elsewhere or isinstance(fault, _REFUSED) or _passes(fault) or "NOAUTH" in str(fault)


def _passes(fault: exceptions.RedisError) -> bool:
    """Whether the command may be taken later."""
    return isinstance(fault, _PASSING) or str(fault).startswith(_PASSING_WORDS)


def _entry(entry: tuple[bytes, Mapping[bytes, bytes]]) -> Entry:
    name, fields = entry
    return _text(name), {_text(key): _text(value) for key, value in fields.items()}


def _text(data: bytes | str) -> str:
    return data.decode(errors="replace") if isinstance(data, bytes) else data
