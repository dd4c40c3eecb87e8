"""The settings of every transform and predicate are those of Apache Kafka's."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.config.definition import REQUIRED, Definition, Key
from headrace.pipelines.connect.transforms.named import PREDICATES, TRANSFORMS
from tests.pipelines.connect.transforms.oracle import Oracle

DEFINITIONS: dict[str, tuple[Definition, str]] = {
    **{plugin.name: (plugin.definition, plugin.doc) for plugin in TRANSFORMS},
    **{plugin.name: (plugin.definition, plugin.doc) for plugin in PREDICATES},
}


def shown(key: Key) -> dict[str, object]:
    """A key as the oracle shows it."""
    default = None if key.default is REQUIRED or key.default is None else str(key.default)
    return {
        "type": key.kind.value,
        "importance": key.importance,
        "required": key.required,
        "default": default.lower() if isinstance(key.default, bool) and default else default,
    }


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_the_keys_are_kafkas(name: str, oracle: Oracle) -> None:
    """Names in their order, kinds, defaults and importance; the documentation is our own."""
    definition, doc = DEFINITIONS[name]
    theirs = oracle.definition(name)
    assert {key.name: shown(key) for key in definition.keys} == theirs
    assert [key.name for key in definition.keys] == list(theirs)
    assert doc.endswith(".")
    assert all(key.doc for key in definition.keys)


def test_every_transform_of_kafka_is_there() -> None:
    """Sixteen, ten of them for keys and for values, and three predicates."""
    assert len({plugin.name.partition("$")[0] for plugin in TRANSFORMS}) == 16
    assert len(TRANSFORMS) == 26
    assert len(PREDICATES) == 3
