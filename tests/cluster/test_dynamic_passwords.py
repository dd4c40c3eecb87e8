"""Dynamic passwords: what is stored, what a change of the secret leads to."""

from __future__ import annotations

import secrets

import pytest

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_changes import AlterOp, ConfigOp, incremental_alter_broker
from headrace.cluster.config_owners import broker_owner
from headrace.cluster.dynamic_passwords import DynamicPasswords
from headrace.cluster.image import ConfigChanged
from headrace.errors import ConfigError
from tests.cluster.clusters import cluster

NAME, OTHER = "ssl.keystore.password", "listener.name.x.ssl.key.password"
CLEAR = {NAME: "changeit", OTHER: "hunter2"}


def passwords(**secret: str) -> DynamicPasswords:
    keys = {"new": "password.encoder.secret", "old": "password.encoder.old.secret"}
    config = BrokerConfig({keys[name]: value for name, value in secret.items()})
    return DynamicPasswords.of(config, secrets.token_bytes)


def test_other_settings_of_the_broker_pass_as_they_are() -> None:
    kept = passwords(new="s")
    stored = {**kept.encrypted(CLEAR), "log.cleaner.threads": "2"}
    assert "changeit" not in str(stored)
    assert kept.decrypted(stored) == ({**CLEAR, "log.cleaner.threads": "2"}, [])


@pytest.mark.parametrize("secret", [{}, {"new": "wrong"}, {"old": "s"}])
def test_unreadable_passwords_are_left_out_by_name(secret: dict[str, str]) -> None:
    """Clear text of an earlier release is not taken for an encrypted password."""
    stored = {**passwords(new="s").encrypted(CLEAR), "ssl.key.password": "clear", "sasl.x": "y"}
    readable, unreadable = passwords(**secret).decrypted(stored)
    assert readable == {"sasl.x": "y"}
    assert unreadable == [*CLEAR, "ssl.key.password"]


def test_without_a_secret_the_remedy_is_named() -> None:
    assert passwords().encrypted({}) == {}
    with pytest.raises(ConfigError, match=r"set password\.encoder\.secret"):
        passwords(old="s").encrypted(CLEAR)


def test_rotation_encrypts_what_only_the_old_secret_reads() -> None:
    """During it both are read; after it the old secret is not needed, and nothing changes again."""
    image = cluster([1])
    stored = {
        **passwords(new="first").encrypted({NAME: "changeit"}),
        **passwords(new="second").encrypted({OTHER: "hunter2"}),
        "log.cleaner.threads": "2",
    }
    image.apply([ConfigChanged(broker_owner(1), stored)])
    both = passwords(new="second", old="first")
    assert both.decrypted(stored) == ({**CLEAR, "log.cleaner.threads": "2"}, [])
    assert passwords(new="second").rotated(image, 1) == []
    (change,) = both.rotated(image, 1)
    assert change.configs[OTHER] == stored[OTHER]
    image.apply([change])
    assert both.rotated(image, 1) == []
    assert passwords(new="second").decrypted(change.configs)[0] == {
        **CLEAR,
        "log.cleaner.threads": "2",
    }


def test_a_change_of_another_setting_leaves_stored_passwords_alone() -> None:
    """Also those that this broker cannot read; a password can be deleted without the secret."""
    image = cluster([1])
    stored = passwords(new="s").encrypted(CLEAR)
    image.apply([ConfigChanged(broker_owner(1), stored)])
    op = ConfigOp("log.cleaner.threads", AlterOp.SET, "2")
    change = incremental_alter_broker(image, 1, [op], BrokerConfig())
    assert change.configs == {**stored, "log.cleaner.threads": "2"}
    op = ConfigOp(NAME, AlterOp.DELETE)
    change = incremental_alter_broker(image, 1, [op], BrokerConfig())
    assert change.configs == {OTHER: stored[OTHER]}
