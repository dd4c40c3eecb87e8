"""The file of an agent: which sources, channels and sinks it has, and how they are connected.

    pipeline.sources = kafka1
    pipeline.channels = c1
    pipeline.sinks = hdfssink
    pipeline.sources.kafka1.channels = c1          a source may feed several
    pipeline.sinks.hdfssink.channel = c1           a sink drains one

The first part of every key is the name of the agent; a file may describe several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from headrace.errors import ConfigError
from headrace.pipelines.lake.jobs.properties import Properties

_KINDS: Final = ("sources", "channels", "sinks")


@dataclass(frozen=True, slots=True)
class Component:
    """A source, a channel or a sink, and the channels that it is connected to."""

    name: str
    settings: Properties
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """An agent as its file describes it."""

    name: str
    sources: tuple[Component, ...]
    channels: tuple[Component, ...]
    sinks: tuple[Component, ...]
    remarks: tuple[str, ...] = ()


def read_agent(given: Mapping[str, str], name: str, where: str) -> AgentPlan:
    """The agent of this name; ConfigError says what is missing, or connected to nothing."""
    agents = sorted({key.partition(".")[0] for key in given})
    if name not in agents:
        near = get_close_matches(name, agents, n=1)
        hint = f"did you mean -n {near[0]}?" if near else f"it has {', '.join(agents) or 'none'}"
        raise ConfigError(f"{where} describes no agent {name}; {hint}")
    settings = Properties(
        {key[len(name) + 1 :]: text for key, text in given.items() if _is_of(key, name)},
        where,
        f"{name}.",
    )
    for kind in _KINDS:
        settings.required(kind, f"the names of the agent's {kind}, between blanks")
    channels = tuple(Component(each, _own(settings, "channels", each)) for each in _of(settings, 1))
    known = {channel.name for channel in channels}
    sources = tuple(_source(settings, each, known) for each in _of(settings, 0))
    sinks = tuple(_sink(settings, each, known) for each in _of(settings, 2))
    return AgentPlan(name, sources, channels, sinks, tuple(_remarks(settings)))


def _of(settings: Properties, kind: int) -> list[str]:
    return settings.names(_KINDS[kind])


def _own(settings: Properties, kind: str, name: str) -> Properties:
    own = settings.below(f"{kind}.{name}.")
    own.required("type", f"the kind of the {kind[:-1]}")
    return own


def _source(settings: Properties, name: str, known: set[str]) -> Component:
    own = _own(settings, "sources", name)
    own.required("channels", "the channels that the source feeds (a sink has `channel`)")
    wired = own.names("channels")
    for channel in wired:
        _check(own, "channels", channel, known)
    return Component(name, own, tuple(wired))


def _sink(settings: Properties, name: str, known: set[str]) -> Component:
    own = _own(settings, "sinks", name)
    channel = own.required(
        "channel", "the one channel that the sink drains (a source has `channels`)"
    )
    _check(own, "channel", channel, known)
    return Component(name, own, (channel,))


def _check(own: Properties, key: str, channel: str, known: set[str]) -> None:
    if channel not in known:
        raise own.wrong(key, f"one of the agent's channels ({', '.join(sorted(known))})")


def _remarks(settings: Properties) -> list[str]:
    """Settings of components that the agent does not have."""
    prefixes = [f"{kind}.{name}." for n, kind in enumerate(_KINDS) for name in _of(settings, n)]
    return settings.remarks(_KINDS, prefixes=tuple(prefixes))


def _is_of(key: str, agent: str) -> bool:
    return key.startswith(f"{agent}.")
