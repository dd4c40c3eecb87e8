"""Which registry a command asks when several are named; none of them needs to answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli import profiles
from headrace.cli.profiles import Profile
from headrace.cli.schema.registry import DEFAULT_URL, GivenUrl, open_client
from tests.cli.conftest import Headrace

TYPED, PROPERTY, ELSEWHERE = (f"http://127.0.0.1:{port}" for port in (1, 2, 3))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", ELSEWHERE)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--registry", TYPED, "-X", f"schema.registry.url={PROPERTY}"], TYPED),
        (["-r", TYPED, "-X", f"url={PROPERTY}"], TYPED),
        (["-X", f"schema.registry.url={PROPERTY}"], PROPERTY),
        ([], ELSEWHERE),
    ],
)
def test_the_nearest_address_is_asked(headrace: Headrace, words: list[str], asked: str) -> None:
    """The option, then -X, then the environment; the text names the one that was asked."""
    outcome = headrace("schema", "list", *words)
    assert outcome.code == 1
    assert f"no registry answers ({asked}: " in outcome.err
    found = [each for each in (TYPED, PROPERTY, ELSEWHERE) if each in outcome.err]
    assert found == [asked]
    doctor = headrace("doctor", "--registry", TYPED, *words)
    assert f"schema registry {TYPED}" in doctor.out
    assert ELSEWHERE not in doctor.out


@pytest.mark.usefixtures("elsewhere")
def test_a_file_of_properties_counts_less_than_the_option(
    headrace: Headrace, tmp_path: Path
) -> None:
    """As `consume` and `produce` take it, which have the settings of both in one file."""
    given = tmp_path / "client.properties"
    given.write_text(f"schema.registry.url={PROPERTY}\n")
    for words, asked in (([], PROPERTY), (["--registry", TYPED], TYPED)):
        outcome = headrace("produce", "t", "--value-format", "avro", "-X", f"@{given}", *words)
        assert f"no registry answers ({asked}: " in outcome.err


def test_the_secrets_of_a_profile_are_for_its_own_registry() -> None:
    """Another address among the properties does not get its password."""
    secret = {"basic.auth.user.info": "me:secret"}
    profile = Profile("here", {"schema.registry.url": DEFAULT_URL, **secret})
    with profiles.in_force(profile):
        mine = open_client(DEFAULT_URL, {})
        other = open_client(DEFAULT_URL, {"schema.registry.url": PROPERTY})
        back = open_client(GivenUrl(DEFAULT_URL), {"schema.registry.url": PROPERTY})
    assert (mine.settings.urls, mine.settings.user_info) == ((DEFAULT_URL,), "me:secret")
    assert (other.settings.urls, other.settings.user_info) == ((PROPERTY,), None)
    assert (back.settings.urls, back.settings.user_info) == ((DEFAULT_URL,), "me:secret")
