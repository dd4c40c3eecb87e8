"""Settings of the Kafka clients of one connector: `producer.override.acks=1` and the like.

What a connector may set is for the worker's policy to say. The module reads and judges; it does not
know what the clients make of the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.faults import ConfigException

CLIENTS: Final = ("producer", "consumer", "admin")

ALLOWLIST: Final = "connector.client.config.override.allowlist"
_PRINCIPAL: Final = frozenset(("sasl.jaas.config", "sasl.mechanism", "security.protocol"))
_SUFFIX: Final = "ConnectorClientConfigOverridePolicy"


@dataclass(frozen=True, slots=True)
class Policy:
    """Which client settings connectors may set; `allowed` is None where they may set any."""

    name: str
    allowed: frozenset[str] | None

    def refusal(self, setting: str) -> str | None:
        """Why a connector may not set this; None if it may."""
        if self.allowed is None or setting in self.allowed:
            return None
        return (
            f"The '{self.name}' policy does not allow '{setting}' to be overridden in the "
            "connector configuration."
        )


def policy(name: str, allowlist: list[str]) -> Policy:
    """The policy of that name, or of the class of that name; `allowlist` is for Allowlist alone."""
    short = name.rpartition(".")[2].removesuffix(_SUFFIX)
    known = {
        "All": None,
        "None": frozenset[str](),
        "Principal": _PRINCIPAL,
        "Allowlist": frozenset(allowlist),
    }
    if short not in known:
        raise ConfigException.of(
            "connector.client.config.override.policy",
            name,
            f"the policies are {', '.join(known)}",
        )
    return Policy(short, known[short])


def overrides(client: str, settings: Mapping[str, str]) -> dict[str, str]:
    """What a connector's settings say of one kind of client, under the client's own names."""
    prefix = f"{client}.override."
    return {
        name.removeprefix(prefix): value
        for name, value in settings.items()
        if name.startswith(prefix)
    }


def refusals(allowed: Policy, settings: Mapping[str, str]) -> dict[str, str | None]:
    """Every override in a connector's settings, with the reason why it may not be."""
    return {
        f"{client}.override.{name}": allowed.refusal(name)
        for client in CLIENTS
        for name in overrides(client, settings)
    }
