"""The options that many commands share, declared once, and how their text becomes data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, TypeAlias

import typer

from headrace.cli.completion import complete_topic
from headrace.cli.failures import Failure, WrongUsage, did_you_mean
from headrace.cli.output import Output
from headrace.cli.parameters import Made, argument, option
from headrace.cli.target import Target, parse_target

DEFAULT_SERVERS = "127.0.0.1:9092"
NONE_GIVEN: list[str] = []
MADE: Final[Any] = None
"""The default of a parameter that is made of options; see `parameters`."""

SERVER_FLAGS: Final = ("--bootstrap-server", "--bootstrap-servers", "-b")
"""Kafka's tools say the one, its clients the other: every command takes both."""

Servers: TypeAlias = Annotated[
    str,
    typer.Option(
        *SERVER_FLAGS,
        metavar="HOST:PORT,…",
        envvar="HEADRACE_BOOTSTRAP_SERVERS",
        help="Addresses of brokers; the first that answers names the others.",
    ),
]
Properties: TypeAlias = Annotated[
    list[str],
    option(
        "--client-property -X KEY=VALUE",
        "A setting of the client, such as security.protocol=SSL; @FILE reads a file of them.",
    ),
]


def _target(servers: Servers = DEFAULT_SERVERS, properties: Properties = NONE_GIVEN) -> Target:
    return parse_target(servers, properties)


TargetOptions: TypeAlias = Annotated[Target, Made(_target)]
"""The brokers that a command talks to, of `-b` and `-X`."""
OutputOption: TypeAlias = Annotated[Output, option("--output -o", "Output format.")]
TopicNames: TypeAlias = Annotated[list[str], argument("TOPIC…", autocompletion=complete_topic)]
TopicName: TypeAlias = Annotated[str, argument("TOPIC", autocompletion=complete_topic)]
TopicOption: TypeAlias = Annotated[
    str | None,
    option(
        "--topic -t TOPIC",
        "The topic, if it is not given as the first argument.",
        autocompletion=complete_topic,
    ),
]


def choose_topic(option: str | None, words: list[str]) -> tuple[str, list[str]]:
    """The topic of `--topic` or else of the first word, and the words that are left."""
    if option is not None:
        return option, words
    if not words:
        raise WrongUsage("no topic is named", "give it as the first argument, or with --topic")
    return words[0], words[1:]


def parse_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`["a=1", "b=x=y"]` as a mapping; the value may hold more equals signs."""
    parsed = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise WrongUsage(f'{option} "{pair}" has no value', f"write {option} KEY=VALUE")
        parsed[key.strip()] = value.strip()
    return parsed


def confirm(question: str, *, yes: bool) -> None:
    """Ask a person who sits at the terminal; scripts are not asked."""
    if not yes and sys.stdin.isatty() and not typer.confirm(question):
        raise Failure("nothing was deleted")


def parse_states(words: Iterable[str], states: Sequence[str], noun: str) -> list[str]:
    """The states as Kafka writes them, however they were typed."""
    known = {name.lower(): name for name in states}
    for word in words:
        if word.lower() not in known:
            hint = did_you_mean(word.capitalize(), states) or f"the states are {', '.join(states)}"
            raise WrongUsage(f'"{word}" is not a state of a {noun}', hint)
    return [known[word.lower()] for word in words]
