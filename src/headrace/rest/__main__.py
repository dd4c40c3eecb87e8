"""python -m headrace.rest [kafka-rest.properties] [--set key=value …]: run a REST Proxy."""

from __future__ import annotations

import argparse
import logging
import sys

from headrace.errors import ConfigError, HeadraceError
from headrace.rest.settings import RestSettings, rest_settings
from headrace.runtime.properties import parse_properties


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m headrace.rest", description=__doc__)
    parser.add_argument("file", nargs="?", help="settings, in the form of kafka-rest.properties")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting"
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    try:
        settings = _settings(options.file, options.set)
        from headrace.rest.app import serve

        return serve(settings)
    except HeadraceError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _settings(file: str | None, pairs: list[str]) -> RestSettings:
    properties = {}
    if file is not None:
        try:
            with open(file, encoding="utf-8") as opened:
                properties = parse_properties(opened.read(1 << 20))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file} cannot be read: {error}") from None
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair!r} has no value: write --set KEY=VALUE")
        properties[key.strip()] = value.strip()
    settings, unknown = rest_settings(properties)
    for name in unknown:
        logging.getLogger("kafkarest.config").warning("the setting %s is not known", name)
    return settings


if __name__ == "__main__":
    sys.exit(main())
