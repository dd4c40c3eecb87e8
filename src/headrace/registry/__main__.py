"""`python -m headrace.registry [schema-registry.properties] [--set key=value …]`."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Final

from headrace.errors import ConfigError, HeadraceError
from headrace.registry.settings import registry_settings

_USAGE: Final = "usage: python -m headrace.registry [FILE.properties] [--set KEY=VALUE …]"
_LOG: Final = logging.getLogger("headrace.registry")


def read_arguments(words: list[str]) -> dict[str, str]:
    """The properties of the file, then those of `--set`; the later one wins."""
    properties: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if flag == "--set":
            pair = value if equals else next(rest, "")
            key, equals, text = pair.partition("=")
            if not equals or not key.strip():
                raise ConfigError(f"--set {pair!r} has no value: write --set KEY=VALUE")
            properties[key.strip()] = text.strip()
        elif word.startswith("-"):
            raise ConfigError(f"{word} is not known; {_USAGE}")
        else:
            properties = {**_read(word), **properties}
    return properties


def _read(path: str) -> dict[str, str]:
    from headrace.runtime.properties import parse_properties

    try:
        return parse_properties(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def main() -> int:
    """Run the service; a mistake in its settings is one line and exit code 1."""
    logging.basicConfig(
        level=logging.INFO, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    try:
        settings, warnings = registry_settings(read_arguments(sys.argv[1:]))
        if settings.debug:
            logging.getLogger("headrace").setLevel(logging.DEBUG)
        for warning in warnings:
            _LOG.warning("%s", warning)
        from headrace.registry.app import serve

        return serve(settings)
    except HeadraceError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
