"""Typed settings as a broker has them whose file is empty, with some replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.broker.groups.groups import read_settings
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.configs import topic_settings
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.log import LogConfig

_BROKER = BrokerConfig()
_LOG = topic_settings(LogConfig, {}, _BROKER)
_GROUPS = read_settings(_BROKER)
_TRANSACTIONS = _BROKER.read(TransactionSettings, transaction_version=2)


def log_config(**changes: Any) -> LogConfig:
    return replace(_LOG, **changes)


def group_settings(**changes: Any) -> GroupSettings:
    return replace(_GROUPS, **changes)


def transaction_settings(**changes: Any) -> TransactionSettings:
    return replace(_TRANSACTIONS, **changes)
