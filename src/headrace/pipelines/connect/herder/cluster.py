"""What concerns all workers: the key that they sign with, and the levels of their loggers."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.faults import NotFoundException
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import SessionKey, Write

_LEVELS: Final = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")


def wants_session_key(snapshot: Snapshot, now_ms: int, ttl_ms: int) -> bool:
    """Whether the leader must make a new key; a lifetime of 0 never ends."""
    key = snapshot.session_key
    return key is None or (ttl_ms > 0 and now_ms - key.created_ms >= ttl_ms)


def rotate(key: SessionKey) -> list[Write]:
    """A new key for all workers."""
    return [records.session_key(key)]


def level_named(text: str) -> str:
    """A level of loggers as Connect writes it; NotFoundException if there is none."""
    if text.upper() not in _LEVELS:
        raise NotFoundException(f"invalid log level '{text}'.")
    return text.upper()


def set_logger_level(logger: str, level: str) -> list[Write]:
    """The level of a logger on all workers."""
    return [records.logger_level(logger, level_named(level))]
