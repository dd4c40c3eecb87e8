"""The settings of this broker, of topics and of groups as they are now.

Dynamic settings of the image override those of the file. `refresh` or `forget_group` is called
after each change of the image; users of a setting read it here each time. How a change is made is
not known here.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headrace.broker.watching import logs
from headrace.cluster.config_owners import ALL_BROKERS, broker_owner, group_owner, topic_owner
from headrace.cluster.configs import group_config, topic_settings
from headrace.cluster.dynamic_passwords import DynamicPasswords
from headrace.cluster.image import ALL_LOG_DIRS, CORDONED_LOG_DIRS
from headrace.log import LogConfig

if TYPE_CHECKING:
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.image import ClusterImage

GroupConfig: TypeAlias = Mapping[str, Any]
"""A group's settings by Kafka's names."""

_MOST_LOG_CONFIGS: Final = 1_000


class CurrentSettings:
    """See the module. `config` is replaced with each change, so that one of them can be kept."""

    def __init__(
        self, broker_id: int, static: BrokerConfig, image: ClusterImage, storage: Storage
    ) -> None:
        self.passwords = DynamicPasswords.of(static, secrets.token_bytes)
        self._broker_id = broker_id
        self._static = static
        self._image = image
        self._storage = storage
        self._unreadable: list[str] = []  # passwords that were encrypted with another secret
        self._log_configs: dict[tuple[tuple[str, str], ...], LogConfig] = {}  # by overrides
        self._group_configs: dict[str, GroupConfig] = {}  # those that somebody asked for
        self.refresh()

    def refresh(self) -> None:
        """The settings of this broker or of all brokers have changed."""
        stored = self._image.config_of(broker_owner(self._broker_id))
        own, unreadable = self.passwords.decrypted(stored)
        if unreadable and unreadable != self._unreadable:
            logs.CONFIG.error(
                "Dynamic passwords that cannot be decrypted are ignored: %s. "
                "Set password.encoder.secret (or password.encoder.old.secret) to the secret they "
                "were encrypted with and restart, or set these passwords again",
                ", ".join(unreadable),
            )
        self._unreadable = unreadable
        self.config = self._static.with_dynamic(own, self._image.config_of(ALL_BROKERS))
        self._log_configs.clear()
        self._group_configs.clear()
        self._cordon()

    def _cordon(self) -> None:
        """Let `cordoned.log.dirs` decide which directories get new partitions (KIP-1066)."""
        cordoned = set(self.config.get_list(CORDONED_LOG_DIRS))
        paths = {directory.path for directory in self._storage.directories}
        if ALL_LOG_DIRS not in cordoned:
            paths &= cordoned
        self._storage.cordoned = frozenset(paths)
        is_full = len(paths) == len(self._storage.directories) > 0
        self._image.cordoned = frozenset((self._broker_id,) if is_full else ())

    def log_config(self, topic: str) -> LogConfig:
        """The settings of a topic's logs: its own, over the broker's, over the defaults."""
        overrides = self._image.config_of(topic_owner(topic))
        key = tuple(overrides.items())
        config = self._log_configs.get(key)
        if config is None:
            if len(self._log_configs) >= _MOST_LOG_CONFIGS:
                self._log_configs.clear()
            config = self._log_configs[key] = topic_settings(LogConfig, overrides, self.config)
        return config

    def group_config(self, group: str) -> GroupConfig:
        """The settings of a group by Kafka's names: its own, over the broker's, over the defaults.

        `settings.group_config(group)["share.record.lock.duration.ms"]`
        """
        config = self._group_configs.get(group)
        if config is None:
            overrides = self._image.config_of(group_owner(group))
            config = self._group_configs[group] = group_config(overrides, self.config)
        return config

    def own_group_config(self, group: str) -> GroupConfig:
        """The effective values of what a group has settings of its own for; mostly nothing."""
        own = self._image.config_of(group_owner(group))
        return {name: self.group_config(group)[name] for name in own}

    def forget_group(self, group: str) -> None:
        """The settings of a group have changed."""
        self._group_configs.pop(group, None)
