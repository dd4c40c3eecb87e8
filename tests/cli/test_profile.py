"""`headrace profile`: clusters by name, kept for their owner alone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from headrace.cli import profiles
from headrace.cli.target import parse_target
from headrace.testing import Broker
from tests.cli.conftest import Headrace


@pytest.fixture(autouse=True)
def home(no_profiles: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of settings of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_a_profile_lives_from_create_to_delete(headrace: Headrace) -> None:
    """The first one made is used at once; another when it is asked for."""
    made = headrace("profile", "create", "local", "-b", "127.0.0.1:9092")
    assert made.out == 'profile "local" is saved and in use\n'
    secure = ["-b", "b:9093", "-X", "security.protocol=SASL_SSL", "-X", "sasl.password=x"]
    assert headrace("profile", "create", "prod", *secure).out == 'profile "prod" is saved\n'
    assert "already; replace it with --force" in headrace("profile", "create", "prod", *secure).err
    assert headrace("profile", "use", "prod").code == 0
    rows = json.loads(headrace("profile", "list", "-o", "json").out)
    assert [(row["name"], row["in_use"], row["security"]) for row in rows] == [
        ("local", False, "PLAINTEXT"),
        ("prod", True, "SASL_SSL"),
    ]
    assert headrace("profile", "delete", "prod").code == 0
    assert headrace("profile", "show").err.startswith("headrace: no profile is in use")
    assert headrace("profile", "use", "--none").out == "no profile is in use\n"
    assert 'did you mean "local"?' in headrace("profile", "use", "locale").err


def test_secrets_are_shown_on_request_only(headrace: Headrace) -> None:
    """Passwords, whatever the setting that holds them."""
    secret = ["-X", "sasl.password=pass1", "-X", "basic.auth.user.info=u:pass2"]
    headrace("profile", "create", "prod", "-b", "b:9093", *secret)
    shown = headrace("profile", "show").out
    assert "pass" not in shown.replace("sasl.password", "")
    assert "sasl.password=pass1" in headrace("profile", "show", "prod", "--secrets").out


def test_nobody_else_may_read_the_file(headrace: Headrace, home: Path) -> None:
    """It is made so, and refused when somebody has opened it to others."""
    headrace("profile", "create", "prod", "-b", "b:9093")
    file = home / "headrace" / "profiles.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]
    file.chmod(0o644)
    outcome = headrace("topic", "list")
    assert outcome.code == 1
    assert outcome.err == f"headrace: others may read {file}; chmod 600 {file}\n"


def test_a_damaged_file_is_told(headrace: Headrace, home: Path) -> None:
    """With its path, and no stack trace."""
    headrace("profile", "create", "prod", "-b", "b:9093")
    (home / "headrace" / "profiles.json").write_text("{}")
    assert "is damaged" in headrace("profile", "list").err


def test_commands_go_to_the_cluster_in_use(
    headrace: Headrace, headrace_broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag is stronger than the profile named, that than the environment, that than the rest."""
    there, nowhere = headrace_broker.bootstrap_servers, "127.0.0.1:1"
    headrace("profile", "create", "there", "-b", there)
    headrace("profile", "create", "nowhere", "-b", nowhere)
    assert headrace("topic", "list").code == 0
    assert nowhere in headrace("topic", "list", "--profile", "nowhere").err
    assert nowhere in headrace("--profile=nowhere", "topic", "list").err
    assert headrace("topic", "list", "--profile", "nowhere", "-b", there).code == 0
    monkeypatch.setenv("HEADRACE_PROFILE", "nowhere")
    assert nowhere in headrace("topic", "list").err
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", there)
    assert headrace("topic", "list").code == 0
    assert nowhere in headrace("topic", "list", "--profile", "nowhere").err
    missing = headrace("topic", "list", "--profile", "ther")
    assert missing.code == 2
    assert 'there is no profile "ther"; did you mean "there"?' in missing.err


def test_a_password_goes_to_its_own_cluster_only(headrace: Headrace) -> None:
    """Another address on the command line does not get it; -X is stronger than the profile."""
    settings = {
        "bootstrap.servers": "b:9093",
        "sasl.password": "x",
        "schema.registry.url": "http://r:1",
        "basic.auth.user.info": "u:p",
    }
    with profiles.in_force(profiles.Profile("prod", settings)):
        assert parse_target("b:9093", []).properties == {"sasl.password": "x"}
        assert parse_target("b:9093", ["sasl.password=y"]).properties == {"sasl.password": "y"}
        assert parse_target("c:9093", []).properties == {}
        assert profiles.settings_for_registry("http://r:1") == {"basic.auth.user.info": "u:p"}
        assert profiles.settings_for_registry("http://s:1") == {}
    assert parse_target("b:9093", []).properties == {}


def test_the_registry_is_found_by_the_profile(headrace: Headrace) -> None:
    """As the brokers are."""
    headrace("profile", "create", "p", "-b", "b:9093", "--registry", "http://127.0.0.1:1")
    assert "127.0.0.1:1" in headrace("schema", "list").err
