"""The levels of this process's loggers: read, changed while the broker runs, taken from a file.

Kafka's names of levels are shown and taken. `root` is the logger above all of the broker's own.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from headrace.broker.watching import logs
from headrace.cluster.broker_config import ConfigSource
from headrace.cluster.config_changes import AlterOp, ConfigOp
from headrace.cluster.config_types import ConfigType
from headrace.cluster.configs import ConfigEntry
from headrace.errors import ClientFault, ConfigError, Error

ROOT: Final = "root"
LEVELS: Final = {
    "TRACE": logs.TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_LOG4J_LOGGER: Final = "log4j.logger."
_LOG4J_ROOT: Final = "log4j.rootLogger"


def levels() -> dict[str, str]:
    """Every logger of the broker and the level that is in force for it."""
    found = {ROOT: logs.level_name(logging.getLogger(logs.TOP).getEffectiveLevel())}
    for name in sorted(_names()):
        found[name] = logs.level_name(logging.getLogger(name).getEffectiveLevel())
    return found


def _names() -> set[str]:
    known = logging.root.manager.loggerDict
    return {
        name
        for name, logger in known.items()
        if isinstance(logger, logging.Logger) and name.startswith(logs.TOPS)
    }


def describe_loggers(names: Collection[str] | None = None) -> list[ConfigEntry]:
    """The loggers as DescribeConfigs shows them."""
    return [
        ConfigEntry(
            name=name,
            value=level,
            source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            read_only=False,
            is_sensitive=False,
            type=ConfigType.STRING,
            documentation="",
        )
        for name, level in levels().items()
        if names is None or name in names
    ]


def check_own_loggers(broker_id: int, name: str) -> None:
    """Loggers belong to a process: only this broker's own can be seen and changed here."""
    if name != str(broker_id):
        raise ClientFault(
            Error.INVALID_REQUEST,
            f"Unexpected broker id, expected {broker_id}, but got '{name}'.",
        )


def alter_loggers(ops: Sequence[ConfigOp], *, validate_only: bool) -> None:
    """Change levels: all of them, or ClientFault and none."""
    wanted = [(_existing(op), _wanted(op)) for op in ops]
    if not validate_only:
        for logger, level in wanted:
            logger.setLevel(level)


def _existing(op: ConfigOp) -> logging.Logger:
    if op.name != ROOT and op.name not in _names():
        raise ClientFault(Error.INVALID_CONFIG, f"Logger {op.name} does not exist!")
    return _logger(op.name)


def _wanted(op: ConfigOp) -> int:
    if op.op == AlterOp.DELETE:
        if op.name == ROOT:
            raise ClientFault(
                Error.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
            )
        return logging.NOTSET
    if op.op != AlterOp.SET:
        raise ClientFault(
            Error.INVALID_REQUEST, f"Operation {op.op} is not allowed for the logger {op.name}"
        )
    if op.value not in LEVELS:
        raise ClientFault(
            Error.INVALID_CONFIG,
            f"Cannot set the log level of {op.name} to {op.value}: allowed are {', '.join(LEVELS)}",
        )
    return LEVELS[op.value]


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(logs.TOP if name == ROOT else name)


def apply_log4j(properties: Mapping[str, str], path: str) -> None:
    """Take the levels of a log4j.properties; loggers of other programs have no effect."""
    for key, value in properties.items():
        if key == _LOG4J_ROOT:
            name = ROOT
        elif key.startswith(_LOG4J_LOGGER):
            name = key.removeprefix(_LOG4J_LOGGER)
        else:
            continue
        level = value.partition(",")[0].strip().upper()
        if level and level not in LEVELS:
            raise ConfigError(
                f"{path}: {key}={value}: {level} is not a level; allowed are {', '.join(LEVELS)}"
            )
        if level and (name == ROOT or name.startswith(logs.TOPS)):
            _logger(name).setLevel(LEVELS[level])
