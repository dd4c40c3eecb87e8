"""`python -m headrace.rest [kafka-rest.properties] [--set key=value …]`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Final

from headrace.http.arguments import main
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


if __name__ == "__main__":
    sys.exit(main("python -m headrace.rest", FILE, run))
