"""What both console consumers do: print records until a limit, a long silence, or a signal.

Where records come from, and what a record that cannot be printed means, is the matter of a source.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any, Final, Protocol

from headrace.cli.kafka_compat.administering import Told, as_whole_number
from headrace.cli.kafka_compat.console.formatters import log
from headrace.cli.kafka_compat.flags import Given
from headrace.cli.kafka_compat.signals import Stopped, stoppable
from headrace.cli.kafka_compat.superseded import Superseded
from headrace.errors import HeadraceError

FORMATTING: Final = (
    "--formatter= --formatter-property=K=V --property=K=V --formatter-config= --key-deserializer= "
    "--value-deserializer= --command-property=K=V --consumer-property=K=V --command-config="
)
FORMATTER: Final = Superseded("--property", "--formatter-property")
DEPRECATED: Final = (
    "Option {old} is deprecated and will be removed in a future version. Use {new} instead."
)
_TIMED_OUT: Final = "org.apache.kafka.common.errors.TimeoutException"
_POLL_S: Final = 0.2


class Source(Protocol):
    """One consumer, and how many of its records were printed."""

    count: int

    def fetch(self, most: int | None, timeout_s: float) -> Iterable[Any]:
        """What comes within this time; `most` are wanted, but more may come."""
        ...

    def line(self, message: Any, *, is_wanted: bool) -> bytes | None:
        """What to print for a message; None for one that is no record."""
        ...

    def close(self) -> None: ...


def print_records(source: Source, given: Given, logger: str) -> int:
    """Print what the source has, as far as it is asked for; the exit code."""
    most = as_whole_number(given, "--max-messages")
    timeout_ms = as_whole_number(given, "--timeout-ms")
    code = 0
    try:
        with closing(source), stoppable():
            _print_all(source, None if most == -1 else most, timeout_ms, logger)
    except Stopped as stopped:
        code = stopped.exit_code
    except BrokenPipeError:
        print("Unable to write to standard out, closing consumer.", file=sys.stderr)
        raise
    finally:
        print(f"Processed a total of {source.count} messages", file=sys.stderr)
        if given.has("--enable-systest-events"):
            print("shutdown_complete", flush=True)
    return code


def _print_all(source: Source, most: int | None, timeout_ms: int | None, logger: str) -> None:
    has_timeout = timeout_ms is not None and timeout_ms >= 0
    limit_s = (timeout_ms or 0) / 1000
    out = sys.stdout.buffer
    heard = time.monotonic()
    while most is None or source.count < most:
        left = None if most is None else most - source.count
        for message in source.fetch(left, min(_POLL_S, limit_s) if has_timeout else _POLL_S):
            line = source.line(message, is_wanted=most is None or source.count < most)
            if line is not None:
                out.write(line)
                heard = time.monotonic()
        out.flush()
        if has_timeout and limit_s < time.monotonic() - heard:
            log("ERROR Error processing message, terminating consumer process: ", logger)
            print(_TIMED_OUT, file=sys.stderr)
            return


def blames_record(fault: HeadraceError) -> bool:
    """Whether a record cannot be shown, rather than the registry be reached."""
    from headrace.cli.kafka_compat.console.schema_values import UnknownSchema
    from headrace.errors import CorruptData
    from headrace.schemas.model import InvalidValue

    return isinstance(fault, InvalidValue | UnknownSchema | CorruptData)


def formatter_properties(given: Given) -> dict[str, str]:
    """What the formatter is told, by file, by flags of its own and by properties."""
    properties = given.properties(files=("--formatter-config",))
    for flag in ("--key-deserializer", "--value-deserializer"):
        if class_name := given.text(flag):
            properties[flag.removeprefix("--").replace("-", ".")] = class_name
    return properties | given.properties("--property", "--formatter-property")


def agreed_group(
    given: Given, settings: Mapping[str, str], property_flag: str, file_flag: str
) -> str | None:
    """The group that is named, by its flag or by the settings; if by both, then the same."""
    groups = dict.fromkeys(
        group for group in (given.text("--group"), settings.get("group.id")) if group is not None
    )
    if len(groups) > 1:
        named = ", ".join(f"'{group}'" for group in groups)
        raise Told(
            "The group ids provided in different places (directly using '--group', via "
            f"'{property_flag}', or via '{file_flag}') do not match. "
            f"Detected group ids: {named}"
        )
    return next(iter(groups), None)
