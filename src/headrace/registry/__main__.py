"""`python -m headrace.registry [schema-registry.properties] [--set key=value …]`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Final

from headrace.errors import HeadraceError
from headrace.http.arguments import read_arguments
from headrace.registry.settings import registry_settings

FILE: Final = "schema-registry.properties"
_LOG: Final = logging.getLogger("headrace.registry")


def run(properties: Mapping[str, str]) -> int:
    """Serve with these settings; a mistake in them is the caller's to tell."""
    logging.basicConfig(
        level=logging.INFO, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    settings, warnings = registry_settings(properties)
    if settings.debug:
        logging.getLogger("headrace").setLevel(logging.DEBUG)
    for warning in warnings:
        _LOG.warning("%s", warning)
    from headrace.registry.app import serve

    return serve(settings)


def main() -> int:
    """A mistake in the settings is one line and exit code 1."""
    try:
        return run(read_arguments("python -m headrace.registry", FILE, sys.argv[1:]))
    except HeadraceError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
