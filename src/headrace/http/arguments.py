"""The command line of an HTTP service: a file of properties, and `--set` over it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from headrace.errors import ConfigError, HeadraceError
from headrace.java.properties import parse_properties

_MAX_FILE_BYTES: Final = 1 << 20


def main(program: str, file_name: str, run: Callable[[Mapping[str, str]], int]) -> int:
    """The exit code of `run`; a mistake in the settings is one line and exit code 1."""
    try:
        return run(read_arguments(program, file_name, sys.argv[1:]))
    except HeadraceError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


def read_arguments(program: str, file_name: str, words: Sequence[str]) -> dict[str, str]:
    """The properties that the words give; `--help` and what is not known end the program."""
    parser = argparse.ArgumentParser(
        prog=program, epilog=f"example: {program} {file_name} --set listeners=http://127.0.0.1:0"
    )
    parser.add_argument("file", nargs="?", help=f"settings, in the form of {file_name}")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting; wins"
    )
    options = parser.parse_args(words)
    properties = {} if options.file is None else _read(options.file)
    for pair in options.set:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {pair!r} has no value: write --set KEY=VALUE")
        properties[key.strip()] = value.strip()
    return properties


def _read(path: str) -> dict[str, str]:
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    if len(text) > _MAX_FILE_BYTES:
        raise ConfigError(f"{path} is larger than {_MAX_FILE_BYTES} bytes")
    return parse_properties(text)
