"""The log files of a broker, named and divided as Kafka's: one folder, a file for each subject.

    server.log            everything that has no file of its own
    controller.log        what the controller decides
    state-change.log      which replica leads or follows, and since when
    log-cleaner.log       compaction
    kafka-authorizer.log  who was allowed what
    kafka-request.log     requests, while kafka.request.logger is at DEBUG

A file is set aside every hour, or when it has grown too large, under the name of its hour; only so
many are kept. Lines are written at once: what was logged before a crash is there. A disk that takes
no more loses lines, and never stops the broker.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.broker.watching import log_levels, logs
from headrace.errors import ConfigError
from headrace.java.properties import parse_properties

if TYPE_CHECKING:
    from headrace.cluster.broker_config import BrokerConfig

FILES: Final = {
    logs.TOP: "server.log",
    "kafka.controller": "controller.log",
    logs.STATE_CHANGE.name: "state-change.log",
    logs.LOG_CLEANER.name: "log-cleaner.log",
    logs.AUTHORIZER.name: "kafka-authorizer.log",
    logs.REQUESTS.name: "kafka-request.log",
}
_STAMP: Final = "%Y-%m-%d-%H"
_ASIDE: Final = re.compile(r"\.[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}(\.[0-9]+)?")
_LOG4J_OPTION: Final = re.compile(r"-Dlog4j\.configuration=(\S+)")


class RollingFile(logging.Handler):
    """One file, set aside by the hour or by its size."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int,
        max_files: int,
        hourly: bool,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._path = path
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._hourly = hourly
        self._now = now
        self._open()

    def _open(self) -> None:
        self._file = os.open(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        found = os.fstat(self._file)
        self._size = found.st_size
        # A file from before belongs to the hour in which it was last written.
        self._stamp = self._stamp_of(found.st_mtime if found.st_size else self._now())

    @staticmethod
    def _stamp_of(seconds: float) -> str:
        return time.strftime(_STAMP, time.localtime(seconds))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = f"{self.format(record)}\n".encode(errors="replace")
            is_over = self._hourly and self._stamp_of(self._now()) != self._stamp
            if self._size and (is_over or self._size + len(line) > self._max_bytes):
                self._set_aside()
            self._size += os.write(self._file, line)
        except OSError:
            pass  # Logging must not be what stops a broker.

    def _set_aside(self) -> None:
        os.close(self._file)
        name = f"{self._path.name}.{self._stamp}"
        numbers = [_order(path)[1] for path in self.set_aside() if path.name.startswith(name)]
        if numbers:
            name = f"{name}.{max(numbers) + 1}"
        try:
            self._path.rename(self._path.with_name(name))
            for old in self.set_aside()[: -self._max_files]:
                old.unlink()
        finally:
            self._open()

    def set_aside(self) -> list[Path]:
        """The files that were set aside, the oldest first."""
        start = len(self._path.name)
        found = [
            path
            for path in self._path.parent.glob(f"{self._path.name}.*")
            if _ASIDE.fullmatch(path.name[start:])
        ]
        return sorted(found, key=_order)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        super().close()


def _order(path: Path) -> tuple[str, int]:
    stamp, _, number = path.name.rpartition(".log.")[2].partition(".")
    return stamp, int(number or 0)


def configure(config: BrokerConfig, environment: Mapping[str, str]) -> Path | None:
    """Take the levels and the folder that the settings name; returns the folder, if there is one.

    The loggers of a subject write to its file alone, and to standard error as before.
    """
    folder = config.get("kafka.logs.dir") or environment.get("LOG_DIR")
    if folder:
        _open_files(Path(folder), config)
    named = _LOG4J_OPTION.search(environment.get("KAFKA_LOG4J_OPTS", ""))
    path = config.get("log4j.configuration") or (named[1] if named else None)
    if path:
        path = path.removeprefix("file:")
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise ConfigError(f"log4j.configuration={path} cannot be read: {fault}") from None
        log_levels.apply_log4j(parse_properties(text), path)
    return Path(folder) if folder else None


def _open_files(folder: Path, config: BrokerConfig) -> None:
    top = logging.getLogger(logs.TOP)
    console = list(top.handlers)
    for handler in console:
        # Files take what is worth keeping; the terminal goes on to show what was asked for.
        handler.setLevel(top.level)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, file_name in FILES.items():
            file = RollingFile(
                folder / file_name,
                max_bytes=config.get_int("kafka.logs.max.bytes"),
                max_files=config.get_int("kafka.logs.max.files"),
                hourly=config.get_str("kafka.logs.rotation") == "hourly",
            )
            file.setFormatter(logs.TextFormatter())
            logger = logging.getLogger(name)
            logger.handlers[:] = [file, *console]
            logger.propagate = False
    except OSError as fault:
        raise ConfigError(
            f"log files cannot be written to {folder}: {fault.strerror}; change `kafka.logs.dir` "
            "or LOG_DIR"
        ) from None
    for name in logs.TOPS:
        logger = logging.getLogger(name)
        logger.setLevel(min(logging.INFO, logger.level))
