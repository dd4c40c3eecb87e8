"""The settings of a worker, standalone or distributed, as its properties file has them.

`standalone` and `distributed` read a file's keys. What is no setting of the worker goes on to those
whom it concerns: settings of converters, of config providers, of the Kafka clients. So files made
for Kafka's workers are taken as they are, those of older versions included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from headrace.pipelines.connect.config.connector import CONVERTERS
from headrace.pipelines.connect.config.overrides import ALLOWLIST, CLIENTS, Policy, policy
from headrace.pipelines.connect.config.validate import WorkerTraits
from headrace.pipelines.connect.config.worker_keys import DISTRIBUTED, STANDALONE
from headrace.pipelines.connect.faults import ConfigException

_NOT_CLIENTS: Final = (*(f"{client}." for client in CLIENTS), "config.providers", "headrace.")

StateTopicKind = Literal["config", "offset", "status"]


@dataclass(frozen=True, slots=True)
class StateTopic:
    """A topic of the cluster's state, and how it is made if it is missing."""

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A worker's settings, typed, beside all that its file has."""

    values: Mapping[str, object]
    given: Mapping[str, str]

    def text(self, name: str) -> str:
        """A setting that is a string; empty if it has no value."""
        return str(self.values[name] or "")

    def number(self, name: str) -> int:
        """A setting that is a number."""
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        """A setting that is true or false."""
        return self.values[name] is True

    def listed(self, name: str) -> list[str]:
        """A setting that is a list; empty if it has no value."""
        value = self.values[name]
        return value if isinstance(value, list) else []

    def under(self, prefix: str) -> dict[str, str]:
        """What the file has under a prefix, without it."""
        return {
            name.removeprefix(prefix): value
            for name, value in self.given.items()
            if name.startswith(prefix)
        }

    def client(self, kind: str) -> dict[str, str]:
        """Settings of the clients of tasks: of a `producer`, `consumer` or `admin`."""
        return {"bootstrap.servers": ",".join(self.listed("bootstrap.servers"))} | self.under(
            f"{kind}."
        )

    def own_client(self) -> dict[str, str]:
        """Settings of the worker's own clients, with which it reads state and joins its group."""
        return {
            name: value for name, value in self.given.items() if not name.startswith(_NOT_CLIENTS)
        }

    def state_topic(self, kind: StateTopicKind) -> StateTopic:
        """One of the three topics; the one for settings has one partition."""
        prefix = f"{kind}.storage."
        own = {"topic", "partitions", "replication.factor"}
        others = {name: value for name, value in self.under(prefix).items() if name not in own}
        return StateTopic(
            self.text(prefix + "topic"),
            1 if kind == "config" else self.number(prefix + "partitions"),
            self.number(prefix + "replication.factor"),
            others,
        )

    @property
    def policy(self) -> Policy:
        """Which client settings connectors may set."""
        name = self.text("connector.client.config.override.policy")
        return policy(name, self.listed(ALLOWLIST))

    @property
    def exactly_once(self) -> bool:
        """Whether sources write in transactions."""
        return str(self.values.get("exactly.once.source.support")).lower() == "enabled"

    @property
    def traits(self) -> WorkerTraits:
        """What the worker brings to its connectors' settings."""
        converters = {name: self.text(name) for name in CONVERTERS}
        return WorkerTraits(converters, self.policy, self.given.get("group.id"), self.exactly_once)


def standalone(given: Mapping[str, str]) -> WorkerConfig:
    """The settings of a standalone worker; ConfigException for the first that is wrong."""
    return WorkerConfig(STANDALONE.read(given), given)


def distributed(given: Mapping[str, str]) -> WorkerConfig:
    """The settings of a distributed worker; ConfigException for the first that is wrong."""
    config = WorkerConfig(DISTRIBUTED.read(given), given)
    signed = config.text("inter.worker.signature.algorithm")
    if signed not in config.listed("inter.worker.verification.algorithms"):
        raise ConfigException.of(
            "inter.worker.signature.algorithm",
            signed,
            "Signature algorithm must be present in inter.worker.verification.algorithms list",
        )
    return config
