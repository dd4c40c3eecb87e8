"""Answers without what differs from run to run, and without what only workers of ours have."""

from __future__ import annotations

import headrace

_MASKED = {"worker_id", "kafka_cluster_id", "commit", "trace", "last_modified"}
_KAFKA = "4.3.1"
_OFFERED = "available connectors are: "
_LETTERS = "errors.deadletterqueue."
"""Ours has dead letter queues for sources, too."""
_TOO_MANY_CLASSES = "recommended_values"


def masked(answer: object) -> object:
    """An answer to compare."""
    told = _values(answer)
    if isinstance(told, list) and all(isinstance(each, str) for each in told):
        return sorted(told)
    return told


def _values(value: object) -> object:
    if isinstance(value, dict):
        return _object(value)
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, str):
        return value.partition(_OFFERED)[0]
    return value


def _object(told: dict[str, object]) -> object:
    kept = {key: _values(value) for key, value in told.items() if key != "task.class"}
    for key in _MASKED & kept.keys():
        kept[key] = None if kept[key] is None else "masked"
    if kept.get("version") == headrace.__version__:
        kept["version"] = _KAFKA
    if kept.get("default_value") == headrace.__version__:
        kept["default_value"] = _KAFKA
    if str(kept.get("name", "")).endswith((".plugin.version", "converter")):
        # Classes and their versions: ours are more, and have versions of their own.
        kept.pop(_TOO_MANY_CLASSES, None)
        kept["value"] = None
    if isinstance(groups := kept.get("groups"), list):
        kept["groups"] = [each for each in groups if each != "Headrace"]
    return kept


def _list(told: list[object]) -> list[object]:
    names = [_name(each) for each in told]
    of_source = "topic.creation.groups" in names
    kept = [
        _values(each)
        for each, name in zip(told, names, strict=True)
        if not name.startswith("headrace.") and not (of_source and name.startswith(_LETTERS))
    ]
    if kept and all(isinstance(each, dict) and "id" in each for each in kept):
        return sorted(kept, key=repr)
    if kept and all(isinstance(each, dict) and "partition" in each for each in kept):
        return sorted(kept, key=repr)
    return kept


def _name(told: object) -> str:
    """The name of a key, in whatever form."""
    if not isinstance(told, dict):
        return ""
    definition = told.get("definition", told)
    return str(definition.get("name", "")) if isinstance(definition, dict) else ""
