"""Files that a command line names: text in UTF-8, read once, up to a limit.

A file that cannot be read, or is too large to be what it is taken for, is a failure that names it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from headrace.cli.failures import WrongUsage
from headrace.errors import HeadraceError
from headrace.java.properties import parse_properties

MAX_BYTES: Final = 1 << 20


def read_text(
    path: str,
    shown: str = "",
    *,
    failure: Callable[[str], HeadraceError] = WrongUsage,
    max_bytes: int = MAX_BYTES,
) -> str:
    """What a file holds, `-` being standard input; a failure calls it `shown`, else by its path."""
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with open(path, "rb") as file:
                raw = file.read(max_bytes + 1)
        text = raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise failure(f"{shown or path} cannot be read ({reason})") from None
    if len(raw) > max_bytes:
        raise failure(f"{shown or path} is larger than {max_bytes} bytes")
    return text


def read_properties(
    path: str, shown: str = "", *, failure: Callable[[str], HeadraceError] = WrongUsage
) -> dict[str, str]:
    """A file in the form of Java's properties."""
    return parse_properties(read_text(path, shown, failure=failure))
