"""Dynamic settings that are passwords: encrypted in the tree, in clear text only in memory.

A broker without `password.encoder.secret` rejects them. Passwords are settings of one broker, so
each broker re-encrypts its own when its secret has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_keys import broker_key
from headrace.cluster.config_owners import broker_owner
from headrace.cluster.image import ClusterImage, ConfigChanged
from headrace.credentials.password_encoder import PasswordEncoder
from headrace.errors import ConfigError


@dataclass(frozen=True, slots=True)
class DynamicPasswords:
    """How a broker keeps passwords: the encoder of its secret, and that of the one before."""

    encoder: PasswordEncoder | None = None
    old: PasswordEncoder | None = None

    @classmethod
    def of(cls, config: BrokerConfig, random_bytes: Callable[[int], bytes]) -> DynamicPasswords:
        def encoder(secret: str | None) -> PasswordEncoder | None:
            if secret is None:
                return None
            return PasswordEncoder(
                secret,
                random_bytes,
                config.get_str("password.encoder.keyfactory.algorithm"),
                config.get_str("password.encoder.cipher.algorithm"),
                config.get_int("password.encoder.key.length"),
                config.get_int("password.encoder.iterations"),
            )

        current = encoder(config.get("password.encoder.secret"))
        old = encoder(config.get("password.encoder.old.secret"))
        return cls(current, None if current is None else old)

    def encrypted(self, passwords: Mapping[str, str]) -> dict[str, str]:
        """The passwords as they are stored; ConfigError without a secret."""
        if not passwords:
            return {}
        if self.encoder is None:
            raise ConfigError(
                f"{', '.join(sorted(passwords))} cannot be stored in clear text: set "
                "password.encoder.secret in the server.properties of every broker and restart, "
                "or set the password there"
            )
        return self.encoder.encode(passwords)

    def decrypted(self, stored: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Stored settings in clear text, and the names of passwords that cannot be decrypted."""
        readable, unreadable = dict(stored), []
        for name in filter(is_password, stored):
            for encoder in (self.encoder, self.old):
                if (password := _decoded(encoder, stored[name])) is not None:
                    readable[name] = password
                    break
            else:
                del readable[name]
                unreadable.append(name)
        return readable, unreadable

    def rotated(self, image: ClusterImage, broker_id: int) -> list[ConfigChanged]:
        """Encrypt again what only the old secret decrypts."""
        if self.encoder is None or self.old is None:
            return []
        stored = image.config_of(broker_owner(broker_id))
        passwords = {
            name: password
            for name in filter(is_password, stored)
            if _decoded(self.encoder, stored[name]) is None
            and (password := _decoded(self.old, stored[name])) is not None
        }
        if not passwords:
            return []
        return [
            ConfigChanged(broker_owner(broker_id), {**stored, **self.encoder.encode(passwords)})
        ]


def is_password(name: str) -> bool:
    key = broker_key(name)
    return key is not None and key.sensitive


def _decoded(encoder: PasswordEncoder | None, text: str) -> str | None:
    if encoder is None:
        return None
    try:
        return encoder.decode(text)
    except ConfigError:
        return None
