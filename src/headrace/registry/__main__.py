"""`python -m headrace.registry [schema-registry.properties] [--set key=value …]`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Final

from headrace.http.arguments import main
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


if __name__ == "__main__":
    sys.exit(main("python -m headrace.registry", FILE, run))
