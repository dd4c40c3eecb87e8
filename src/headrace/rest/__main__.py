"""`python -m headrace.rest [kafka-rest.properties] [--set key=value …]`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Final

from headrace.errors import HeadraceError
from headrace.http.arguments import read_arguments
from headrace.rest.settings import rest_settings

FILE: Final = "kafka-rest.properties"


def run(properties: Mapping[str, str]) -> int:
    """Serve with these settings; a mistake in them is the caller's to tell."""
    logging.basicConfig(
        level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    settings, unknown = rest_settings(properties)
    for name in unknown:
        logging.getLogger("kafkarest.config").warning("the setting %s is not known", name)
    from headrace.rest.app import serve

    return serve(settings)


def main() -> int:
    """A mistake in the settings is one line and exit code 1."""
    try:
        return run(read_arguments("python -m headrace.rest", FILE, sys.argv[1:]))
    except HeadraceError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
