"""A setting is declared once, and whoever reads it reads what is declared."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from headrace.cluster.config_keys import BROKER_KEYS, TOPIC_KEYS
from headrace.cluster.config_types import ConfigType
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.log import LogConfig

SOURCE = Path(__file__).parents[2] / "src" / "headrace"
LOOK_UP = re.compile(r'onfig(?:\(\))?\.get(?:_(int|bool|str|list|float))?\(\s*"([^"]+)"\s*\)')
TYPES = {
    "int": (ConfigType.INT, ConfigType.SHORT, ConfigType.LONG),
    "bool": (ConfigType.BOOLEAN,),
    "str": (ConfigType.STRING, ConfigType.CLASS, ConfigType.PASSWORD),
    "list": (ConfigType.LIST,),
    "float": (ConfigType.DOUBLE,),
}
NOT_READ_AS_IT_IS = {
    "group_consumer_migration_policy",  # in any case
    "offsets_retention_ms",  # in minutes
    "transaction_version",  # a feature
}


def test_look_ups_name_a_declared_key_and_its_type() -> None:
    """A wrong name or type would show only when the line runs."""
    found = 0
    for path in [*SOURCE.glob("broker/**/*.py"), *SOURCE.glob("cluster/**/*.py")]:
        for kind, name in LOOK_UP.findall(path.read_text()):
            found += 1
            assert name in BROKER_KEYS, f"{path}: {name} is not declared"
            assert not kind or BROKER_KEYS[name].type in TYPES[kind], f"{path}: {name} is no {kind}"
    assert found > 70, "the pattern finds no look-ups any more"


@pytest.mark.parametrize("settings", [LogConfig, GroupSettings, TransactionSettings])
def test_typed_settings_have_the_types_that_are_declared(settings: Any) -> None:
    """Each field is a declared key with dots for underscores, and its type fits."""
    hints = get_type_hints(settings)
    for field in fields(settings):
        if field.default is not MISSING or field.name in NOT_READ_AS_IT_IS:
            continue
        name = field.name.replace("_", ".")
        key = TOPIC_KEYS.get(name) or BROKER_KEYS[name]
        kind = "list" if hints[field.name] == tuple[str, ...] else hints[field.name].__name__
        assert key.type in TYPES[kind], name
