"""Config providers, groups of topics and client overrides, the first two beside Connect's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.java.regex import compile_java
from headrace.pipelines.connect.config.overrides import overrides, policy, refusals
from headrace.pipelines.connect.config.providers import Machine, configured, resolved
from headrace.pipelines.connect.config.topic_creation import group_of, topic_groups
from headrace.pipelines.connect.faults import ConfigException
from tests.pipelines.connect.real import TIMEOUT_SECONDS, Real, cases

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

PROVIDERS = "org.apache.kafka.common.config.provider."
LIMITS = settings(
    max_examples=cases(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def files_of(path: str) -> list[str]:
    """The names of the files in a folder."""
    return [each.name for each in Path(path).iterdir() if each.is_file()]


MACHINE = Machine(lambda path: Path(path).read_text(), files_of, os.environ)


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A properties file, and a folder with two files, one of them not to be read."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "a.properties").write_text("user = me\npassword=a\\u0062c\nempty=\n")
    (folder / "open").mkdir()
    (folder / "open" / "token").write_text("t0k\n")
    (folder / "closed").mkdir()
    (folder / "closed" / "token").write_text("hidden")
    return folder


def worker(folder: Path) -> dict[str, str]:
    """A worker with all three providers."""
    return {
        "config.providers": "file,directory,env",
        "config.providers.file.class": PROVIDERS + "FileConfigProvider",
        "config.providers.directory.class": PROVIDERS + "DirectoryConfigProvider",
        "config.providers.directory.param.allowed.paths": f"{folder}/open",
        "config.providers.env.class": PROVIDERS + "EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": "HO.*",
    }


pieces = st.sampled_from(
    [
        "plain ",
        "${file:F:user}",
        "${file:F:password}",
        "${file:F:empty}",
        "${file:F:none}",
        "${file::user}",
        "${file:user}",
        "${directory:D/open:token}",
        "${directory:D/open/../closed:token}",
        "${directory:D/closed:token}",
        "${directory:D/none:token}",
        "${env:HOME}",
        "${env:PATH}",
        "${env:NO_SUCH_VARIABLE}",
        "${other:a:b}",
        "${file}",
        "$",
        "{",
        "}",
        "${",
    ]
)


@LIMITS
@given(parts=st.lists(pieces, max_size=5))
def test_references_are_resolved_as_connect_does(
    real: Real, secrets: Path, parts: list[str]
) -> None:
    """Files, folders and variables; what does not exist, or may not be read, stays as it is."""
    text = "".join(parts).replace("F:", f"{secrets}/a.properties:").replace("D/", f"{secrets}/")
    asked = {"key": text, "other": "x"}
    ours = resolved(asked, configured(worker(secrets), MACHINE))
    assert ours == real.ask({"resolve": asked, "worker": worker(secrets)})


@pytest.mark.parametrize("text", ["${env:path:HOME}", "${file:/no/such/file:key}"])
def test_references_that_cannot_be_read(real: Real, secrets: Path, text: str) -> None:
    """A path for a variable, and a file that is not there, are faults here and there."""
    theirs = real.ask({"resolve": {"key": text}, "worker": worker(secrets)})
    assert isinstance(theirs, dict)
    with pytest.raises(ConfigException) as fault:
        resolved({"key": text}, configured(worker(secrets), MACHINE))
    assert str(fault.value).startswith(theirs["error"].replace("{}", "")[:20])


def test_a_provider_that_nobody_knows() -> None:
    """It is named with those that there are; paths must be absolute."""
    given = {"config.providers": "vault", "config.providers.vault.class": "a.Vault"}
    with pytest.raises(ConfigException, match="FileConfigProvider"):
        configured(given, MACHINE)
    relative = worker(Path("x"))
    with pytest.raises(ConfigException, match="not absolute"):
        configured(relative, MACHINE)


SOURCE = {"name": "s", "connector.class": "c"}
groups = st.fixed_dictionaries(
    {},
    optional={
        "topic.creation.groups": st.sampled_from(["", "a", "a,b", "b,a"]),
        "topic.creation.default.partitions": st.sampled_from(["3", "-1", "0", "x"]),
        "topic.creation.default.replication.factor": st.sampled_from(["2", "-1", "-2"]),
        "topic.creation.default.exclude": st.sampled_from(["b.*", "b.*,c"]),
        "topic.creation.default.cleanup.policy": st.just("compact"),
        "topic.creation.a.include": st.sampled_from(["a.*", "a.*,b1", ".*"]),
        "topic.creation.a.exclude": st.sampled_from(["a1", "a1, a2"]),
        "topic.creation.a.partitions": st.sampled_from(["5", "0"]),
        "topic.creation.b.include": st.sampled_from(["b\\d", "[ab]1"]),
        "topic.creation.b.replication.factor": st.just("1"),
        "topic.creation.b.retention.ms": st.just("7"),
    },
)
TOPICS = ["a1", "a2", "a", "b1", "b22", "c", "d"]


@LIMITS
@given(given=groups)
def test_topics_are_made_as_connect_makes_them(real: Real, given: dict[str, str]) -> None:
    """The same group for each topic, with the same settings; or the same fault."""
    assert made(given) == real.ask({"source": SOURCE | given, "topics": TOPICS})


def made(given: dict[str, str]) -> dict[str, object]:
    """What becomes of the topics, as the program tells it."""
    try:
        known = topic_groups(given)
    except ConfigException as fault:
        return {"error": str(fault)}
    found = [(topic, group_of(known, topic)) for topic in TOPICS]
    return {
        "groups": [
            [topic, group.partitions, group.replication_factor, dict(group.settings)]
            for topic, group in found
            if group is not None
        ]
    }


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("All", []),
        ("None", ["acks", "sasl.mechanism"]),
        ("Principal", ["acks"]),
        ("Allowlist", ["sasl.mechanism"]),
        ("org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy", []),
    ],
)
def test_overrides(name: str, refused: list[str]) -> None:
    """What each policy lets a connector set."""
    given = {"producer.override.acks": "1", "admin.override.sasl.mechanism": "PLAIN", "acks": "2"}
    judged = refusals(policy(name, ["acks"]), given)
    assert sorted(judged) == ["admin.override.sasl.mechanism", "producer.override.acks"]
    told = [key.partition(".override.")[2] for key, reason in judged.items() if reason]
    assert sorted(told) == refused
    assert overrides("producer", given) == {"acks": "1"}


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"\Qa.b\E.*", "a.bc", "axbc"),
        (r"(?<year>\d{4})\z", "2026", "202"),
        (r"\p{Alpha}+", "abc", "a1"),
        (r"[\p{Digit}_]+", "1_2", "a"),
        (r"a|b", "b", "ab"),
        (r"x*+y", "xxy", "xx"),
    ],
)
def test_java_patterns(pattern: str, yes: str, no: str) -> None:
    """What Java writes otherwise means the same."""
    assert compile_java(pattern).fullmatch(yes)
    assert not compile_java(pattern).fullmatch(no)
