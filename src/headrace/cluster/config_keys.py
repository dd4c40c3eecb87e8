"""All settings in one place: what exists, under which names, with which defaults.

Whoever needs to know whether a key exists asks here; nobody keeps a second list.
"""

from __future__ import annotations

from typing import Final

from headrace.cluster.config_types import ConfigKey
from headrace.cluster.keys.client_metrics import CLIENT_METRICS_KEYS as _CLIENT_METRICS_KEYS
from headrace.cluster.keys.group import GROUP_KEYS as _GROUP_KEYS
from headrace.cluster.keys.groups import GROUPS_KEYS
from headrace.cluster.keys.kraft import KRAFT_KEYS
from headrace.cluster.keys.legacy import LEGACY_KEYS
from headrace.cluster.keys.log import LOG_KEYS
from headrace.cluster.keys.monitoring import MONITORING_KEYS
from headrace.cluster.keys.network import NETWORK_KEYS
from headrace.cluster.keys.quotas import QUOTAS_KEYS
from headrace.cluster.keys.replication import REPLICATION_KEYS
from headrace.cluster.keys.security import SECURITY_KEYS
from headrace.cluster.keys.topic import (
    BROKER_SYNONYMS,
    TOPIC_DEFAULT_KEYS,
    TOPIC_SYNONYMS,
    Synonym,
)
from headrace.cluster.keys.topic import TOPIC_KEYS as _TOPIC_KEYS
from headrace.cluster.keys.transactions import TRANSACTIONS_KEYS

LISTENER_PREFIX: Final = "listener.name."

BROKER_KEYS: Final[dict[str, ConfigKey]] = {
    key.name: key
    for key in sorted(
        (
            *GROUPS_KEYS,
            *KRAFT_KEYS,
            *LEGACY_KEYS,
            *LOG_KEYS,
            *MONITORING_KEYS,
            *NETWORK_KEYS,
            *QUOTAS_KEYS,
            *REPLICATION_KEYS,
            *SECURITY_KEYS,
            *TOPIC_DEFAULT_KEYS,
            *TRANSACTIONS_KEYS,
        ),
        key=lambda key: key.name,
    )
}

TOPIC_KEYS: Final[dict[str, ConfigKey]] = {key.name: key for key in _TOPIC_KEYS}

GROUP_KEYS: Final[dict[str, ConfigKey]] = {key.name: key for key in _GROUP_KEYS}

CLIENT_METRICS_KEYS: Final[dict[str, ConfigKey]] = {key.name: key for key in _CLIENT_METRICS_KEYS}


def broker_key(name: str) -> ConfigKey | None:
    """The declaration of a broker setting; `listener.name.X.key` is declared by `key`."""
    key = BROKER_KEYS.get(name)
    if key is None and name.startswith(LISTENER_PREFIX):
        # After the listener's name may come a SASL mechanism's: drop words until a key remains.
        words = name[len(LISTENER_PREFIX) :].split(".")[1:]
        for start in range(len(words)):
            key = BROKER_KEYS.get(".".join(words[start:]))
            if key is not None:
                return key
    return key


def broker_synonyms(name: str) -> tuple[Synonym, ...]:
    """The keys that can give a broker setting its value, the strongest first."""
    chain = BROKER_SYNONYMS.get(name)
    if chain is not None:
        return chain
    if name.startswith(LISTENER_PREFIX):
        key = broker_key(name)
        if key is not None:
            return (Synonym(name), Synonym(key.name))
    return (Synonym(name),)


def topic_synonyms(name: str) -> tuple[Synonym, ...]:
    """The broker keys that a topic setting falls back to, the strongest first."""
    return TOPIC_SYNONYMS.get(name, ())
