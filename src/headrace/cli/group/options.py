"""How groups and their partitions are named on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeAlias

from headrace.cli.completion import complete_group, complete_topic
from headrace.cli.failures import WrongUsage
from headrace.cli.parameters import argument, option

GroupName: TypeAlias = Annotated[str, argument("GROUP", autocompletion=complete_group)]
GroupNames: TypeAlias = Annotated[list[str], argument("GROUP…", autocompletion=complete_group)]
ScopeOption: TypeAlias = Annotated[
    list[str],
    option(
        "--topic -t TOPIC[:N,…]",
        "A topic, or some of its partitions; may be repeated.",
        autocompletion=complete_topic,
    ),
]
YesFlag: TypeAlias = Annotated[bool, option("--yes -y", "Do not ask for confirmation.")]

# Partitions by topic; None stands for all of them.
Scope: TypeAlias = dict[str, set[int] | None]


def parse_scope(words: Iterable[str]) -> Scope:
    """`["orders", "bills:0,2"]` as topics with their partitions."""
    scope: Scope = {}
    for word in words:
        topic, colon, numbers = word.partition(":")
        parts = [part.strip() for part in numbers.split(",")] if colon else []
        if not topic or not all(part.isdecimal() and len(part) < 10 for part in parts):
            raise WrongUsage(f'--topic "{word}" cannot be read', "write TOPIC or TOPIC:0,1,2")
        known = scope.get(topic, set())
        scope[topic] = None if not colon or known is None else known | set(map(int, parts))
    return scope
