"""Java's property files, as far as the application writes them: `key=value` and comments.

A file that cannot be read is said in the log and leaves every key unset, so that whoever asks for
a key decides whether it can do without.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

LOGGER = logging.getLogger(__name__)
FOLDER = Path(__file__).parent


class PropertyReader:
    """The keys of one file; relative names are looked for beside the application."""

    def __init__(self, file: str | Path) -> None:
        self._values = load_properties(FOLDER / file)

    def get(self, key: str) -> str | None:
        return self._values.get(key)


def load_properties(path: Path) -> dict[str, str]:
    """All keys of a file; none, and a line in the log, if it cannot be read."""
    try:
        return parse_properties(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        LOGGER.error("the settings in %s cannot be read: %s", path, fault)
        return {}


def parse_properties(text: str) -> dict[str, str]:
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    return {key.strip(): value.strip() for key, _, value in pairs}


def require(values: Mapping[str, str], keys: tuple[str, ...], where: str) -> None:
    """Stop before anything starts if a key is missing."""
    missing = [key for key in keys if key not in values]
    if missing:
        raise SystemExit(f"{where} lacks {', '.join(missing)}; add a line KEY=VALUE for each")
