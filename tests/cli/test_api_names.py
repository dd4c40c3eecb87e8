"""Names of APIs."""

from __future__ import annotations

import re

from kio.schema.index import api_key_map

from headrace.cli.api_names import API_NAMES, api_name


def test_names_agree_with_kafkas_own() -> None:
    """Every key that Kafka's specifications name has the same name here."""
    for key, name in api_key_map.items():
        known = api_name(key)
        assert known is not None, f"{key} {name}"
        assert re.sub(r"(?<!^)(?=[A-Z])", "_", known).lower() == name


def test_a_key_from_the_future_has_no_name() -> None:
    """A newer broker may list keys that nobody here has heard of."""
    assert api_name(len(API_NAMES)) is None
    assert api_name(-1) is None
