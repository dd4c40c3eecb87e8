"""Flags that Kafka still takes, or took once, and tells its users to give up.

Kafka 4 says so on standard output, before any record. What it has removed altogether is told on
standard error, since whoever still writes it has a script that reads the output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from headrace.cli.kafka_compat.administering import Told, brokers_in_zookeeper
from headrace.cli.kafka_compat.flags import Given

OF_THE_PAST: Final = "--broker-list= --zookeeper= --new-consumer"
_NO_MEANING: Final = ("--new-consumer",)


class Superseded(NamedTuple):
    """A flag and the one that replaces it."""

    old: str
    new: str


def refuse_both(given: Given, pairs: Iterable[Superseded], *, old_first: bool) -> None:
    """Both spellings of one thing cannot be meant."""
    for old, new in pairs:
        if given.has(old) and given.has(new):
            one, other = (old, new) if old_first else (new, old)
            raise Told(f"Options {one} and {other} cannot be specified together.")


def tell(given: Given, pairs: Iterable[Superseded], sentence: str) -> None:
    """Say which of these were given; the sentence has places for `old` and `new`."""
    for old, new in pairs:
        if given.has(old):
            print(sentence.format(old=old, new=new))


def servers_of(
    given: Given, missing: str = 'Missing required argument "[bootstrap-server]"'
) -> str:
    """The brokers, however old the flag that names them."""
    for flag in _NO_MEANING:
        if given.has(flag):
            print(f"headrace: {flag} is deprecated and ignored", file=sys.stderr)
    if servers := given.text("--bootstrap-server", "--broker-list"):
        return servers
    if zookeeper := given.text("--zookeeper"):
        return brokers_in_zookeeper(zookeeper)
    raise Told(missing)


def client_settings(given: Given, pairs: Iterable[Superseded]) -> Mapping[str, str]:
    """What `--command-property` and `--command-config` say, under whichever names they came."""
    flags = [flag for pair in pairs for flag in pair]
    properties = [flag for flag in flags if not flag.endswith("config")]
    files = [flag for flag in flags if flag.endswith("config")]
    return given.properties(*properties, files=files)
