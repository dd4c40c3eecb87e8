"""What a broker keeps is readable by its own user only, and holds no password in clear text."""

from __future__ import annotations

import secrets
from pathlib import Path

from headrace.broker.os_machine import TREE_FILE
from headrace.cluster.config_owners import broker_owner
from headrace.cluster.store import load_image
from headrace.coordination.sqlite import SqliteTree
from headrace.credentials.password_encoder import PasswordEncoder
from headrace.errors import Error
from headrace.testing import Broker
from tests.clients.configs import Op, Resource, Source, changed, configs_of, replaced
from tests.clients.raw import Connection
from tests.clients.records import Record
from tests.clients.requests import create_topic, produced

KEY = "ssl.keystore.password"
PASSWORD = "hunter2-and-more"
ONE = [Record(b"key", b"value", 1_700_000_000_000)]


def readable_by_others(folder: Path) -> list[Path]:
    return [path for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]


def use(broker: Broker, topic: str) -> None:
    with Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, topic)
        produced(connection, topic, ONE)


def test_nobody_else_can_read_the_data_folder(tmp_path: Path) -> None:
    """New folders and files are private, and those of earlier releases become so at the start."""
    data = tmp_path / "data"
    with Broker(data=data) as broker:
        use(broker, "new")
        assert readable_by_others(data) == []
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (data / "notes.txt").write_text("not the broker's")
    (data / "notes.txt").chmod(0o644)
    with Broker(data=data) as broker:
        use(broker, "newer")
        assert readable_by_others(data) == [data / "notes.txt"]


def kept_text(data: Path) -> bytes:
    """All that the store of the cluster's state holds: its file and its write-ahead log."""
    return b"".join(path.read_bytes() for path in data.glob(f"{TREE_FILE}*"))


def kept_passwords(data: Path) -> dict[str, str]:
    """The settings of broker 1 as they are stored; the broker must not run."""
    tree = SqliteTree(str(data / TREE_FILE))
    try:
        return dict(load_image(tree).config_of(broker_owner(1)))
    finally:
        tree.close()


def is_in_force(broker: Broker, name: str) -> bool:
    """Whether the dynamic password counts; its value is never shown."""
    with Connection(broker.bootstrap_servers) as connection:
        config = configs_of(connection, "1", kind=Resource.BROKER, synonyms=True)[name]
    assert config.value is None
    assert config.is_sensitive
    assert all(synonym.value is None for synonym in config.synonyms)
    return bool(config.config_source == Source.DYNAMIC_BROKER)


def with_secret(secret: str, old: str | None = None) -> dict[str, str | int]:
    properties: dict[str, str | int] = {"broker.id": 1, "password.encoder.secret": secret}
    return properties if old is None else {**properties, "password.encoder.old.secret": old}


def test_a_dynamic_password_needs_a_secret(tmp_path: Path) -> None:
    """The error names the remedy; other settings of the same broker can still be changed."""
    broker = Broker({"broker.id": 1}, data=tmp_path)
    with broker, Connection(broker.bootstrap_servers) as connection:
        for name in (KEY, "listener.name.x.ssl.key.password"):
            for outcome in (
                changed(connection, "1", (name, Op.SET, PASSWORD), kind=Resource.BROKER),
                replaced(connection, "1", {name: PASSWORD}, kind=Resource.BROKER),
            ):
                assert outcome.error_code == Error.INVALID_REQUEST
                assert "set password.encoder.secret in the server.properties of every broker" in (
                    outcome.error_message
                )
                assert PASSWORD not in outcome.error_message
        threads = ("log.cleaner.threads", Op.SET, "2")
        assert not changed(connection, "1", threads, kind=Resource.BROKER).error_code
        assert PASSWORD.encode() not in kept_text(tmp_path)


def test_a_dynamic_password_is_stored_encrypted(tmp_path: Path) -> None:
    """A restart reads it; one with another secret says so and ignores it; the secret rotates."""
    with Broker(with_secret("first"), data=tmp_path) as broker:
        with Connection(broker.bootstrap_servers) as connection:
            outcome = changed(connection, "1", (KEY, Op.SET, PASSWORD), kind=Resource.BROKER)
            assert outcome.error_code == Error.NONE, outcome.error_message
        assert is_in_force(broker, KEY)
        assert KEY.encode() in kept_text(tmp_path)
        assert PASSWORD.encode() not in kept_text(tmp_path)
    first = kept_passwords(tmp_path)[KEY]
    assert PasswordEncoder("first", secrets.token_bytes).decode(first) == PASSWORD

    with Broker(with_secret("wrong"), data=tmp_path) as broker:
        broker.await_output(f"cannot be decrypted are ignored: {KEY}")
        assert not is_in_force(broker, KEY)
    assert kept_passwords(tmp_path)[KEY] == first

    with Broker(with_secret("second", old="first"), data=tmp_path) as broker:
        assert is_in_force(broker, KEY)
    second = kept_passwords(tmp_path)[KEY]
    assert PasswordEncoder("second", secrets.token_bytes).decode(second) == PASSWORD

    with Broker(with_secret("second"), data=tmp_path) as broker:
        assert is_in_force(broker, KEY)
        assert "cannot be decrypted" not in broker.output
    assert PASSWORD.encode() not in kept_text(tmp_path)
