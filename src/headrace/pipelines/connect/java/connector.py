"""A Java connector as a class of tasks: what it says of itself, and what is the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from headrace.pipelines.connect.config.definition import (
    REQUIRED,
    Definition,
    Found,
    Key,
    Kind,
    Password,
)
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.java.conversation import Conversation
from headrace.pipelines.connect.java.found import jars_for
from headrace.pipelines.connect.java.jvm import jvm


class JavaSettings(Config):
    """All that a connector was given. Java reads and checks it."""

    given: Mapping[str, str] = {}

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """The settings as they are."""
        made = cls()
        made.given = {key: str(value) for key, value in given.items() if value is not None}
        return made


def described(name: str) -> tuple[str, Definition]:
    """Version and settings of a Java class, as it says them itself."""
    with Conversation(jvm(), jars_for(name, {})) as java:
        told = java.ask("describe", name)
    assert isinstance(told, dict)
    return str(told["version"]), Definition(tuple(map(_key, told["keys"])))


def validated(name: str, given: Mapping[str, str]) -> list[Found]:
    """What a Java connector finds of its settings."""
    _, definition = described(name)
    with Conversation(jvm(), jars_for(name, given)) as java:
        told = java.ask("validate", name, given)
    assert isinstance(told, list)
    return [_found(definition, each) for each in told]


def divided(name: str, settings: Config, most: int) -> list[Mapping[str, str]]:
    """What each task of a Java connector has set, its class among it."""
    assert isinstance(settings, JavaSettings)
    with Conversation(jvm(), jars_for(name, settings.given)) as java:
        told = java.ask("divide", name, settings.given, most)
    assert isinstance(told, list)
    return told


def _key(told: Mapping[str, object]) -> Key:
    kind = Kind(str(told["type"]))
    required = told["required"] is True
    dependents = told["dependents"]
    assert isinstance(dependents, list)
    return Key(
        str(told["name"]),
        kind,
        REQUIRED if required else _value(kind, told["default"]),
        str(told["doc"] or ""),
        str(told["importance"]),
        group=_text(told["group"]),
        width=str(told["width"]),
        display_name=_text(told["display_name"]),
        dependents=tuple(dependents),
        order=int(str(told["order"])),
    )


def _found(definition: Definition, told: Mapping[str, object]) -> Found:
    name = str(told["name"])
    key = definition.by_name.get(name, Key(name, Kind.STRING, None))
    errors, recommended = told["errors"], told["recommended"]
    assert isinstance(errors, list)
    assert isinstance(recommended, list)
    value = _value(key.kind, told["value"])
    return Found(key, value, tuple(errors), tuple(recommended), told["visible"] is True)


def _value(kind: Kind, told: object) -> object:
    return Password(told) if kind is Kind.PASSWORD and isinstance(told, str) else told


def _text(told: object) -> str | None:
    return None if told is None else str(told)
