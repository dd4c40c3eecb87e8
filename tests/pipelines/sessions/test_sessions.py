"""The same source in every kind of session, in two minors of Spark: the tables of the guide.

The installed Spark is the newest that is supported. For `make thorough` the
oldest is fetched once; other minors are tried with HEADRACE_SPARK_MINORS=4.1,4.2.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.testing import Broker
from tests.kafka.toolchain import REPOSITORY, fetched, need, run

PROGRAM = Path(__file__).with_name("kinds.py")
RUN_TIMEOUT_SECONDS = 500
INSTALLED = "installed"
RELEASES = {"4.0": "4.0.5", "4.1": "4.1.4", "4.2": "4.2.1"}
MINORS = [
    INSTALLED,
    *(
        pytest.param(minor, marks=pytest.mark.thorough)
        for minor in os.environ.get("HEADRACE_SPARK_MINORS", "4.0").split(",")
    ),
]

# Four records; eight more; those of one partition; one of a partition that is added; all of them in
# SQL; all of them and once more those of two partitions.
BATCH_READS = [4, 12, 5, 1, 14, 26]
KINDS = ["ordinary", "newSession", "connect", "session"]
# What each row of the guide's table gives, and the first minor that has it.
ROWS: dict[str, tuple[object, str]] = {
    "ordinary: batch write": (["0", "1", "2"], "4.0"),
    "connect: batch write": (["0", "1", "2"], "4.0"),
    "ordinary: decoding in the source": ([7, 7], "4.0"),
    "ordinary: streaming read": (7, "4.2"),
    "ordinary: streaming write": (5, "4.1"),
    "ordinary: column functions": ([0, 1, 2], "4.1"),
}

Outcomes = Callable[[str], dict[str, object]]


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What the program printed under a minor; each minor is started once."""
    known: dict[str, dict[str, object]] = {}

    def find(minor: str) -> dict[str, object]:
        if minor not in known:
            known[minor] = printed(minor, tmp_path_factory.mktemp("sessions"))
        return known[minor]

    return find


def printed(minor: str, folder: Path) -> dict[str, object]:
    """The program under one Spark, with a `python3` on the PATH that knows nothing of Headrace."""
    need("java")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK_", "SPARK_", "HEADRACE_")) and name != "PYTHONPATH"
    }
    stranger = folder / "bin" / "python3"
    stranger.parent.mkdir()
    stranger.write_text("#!/bin/sh\nexit 1\n")
    stranger.chmod(0o755)
    environment["PATH"] = f"{stranger.parent}:{environment['PATH']}"
    if minor != INSTALLED:
        environment["PYTHONPATH"] = str(other_spark(minor))
    with Broker() as broker, (folder / "errors").open("w") as errors:
        done = subprocess.run(
            [sys.executable, PROGRAM, broker.bootstrap_servers, folder],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            timeout=RUN_TIMEOUT_SECONDS,
            check=False,
        )
    assert done.returncode == 0, (folder / "errors").read_text()[-3000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def other_spark(minor: str) -> Path:
    """The folder of another PySpark alone; what it needs besides is installed already."""
    uv = shutil.which("uv") or shutil.which("uv", path=REPOSITORY / ".tools" / "uv" / "bin")
    if uv is None:
        pytest.skip("no uv to fetch another PySpark with: make setup-dev")
    release = f"pyspark=={RELEASES[minor]}"

    def fill(folder: Path) -> None:
        words = ["--quiet", "--no-deps", "--python", sys.executable, "--target", str(folder)]
        run([uv, "pip", "install", *words, release])

    try:
        return fetched(f"pyspark-{RELEASES[minor]}", fill)
    except AssertionError as fault:
        pytest.skip(f"{release} cannot be fetched: {fault}")


def has(version: object, since: str) -> bool:
    first, second = (
        tuple(int(number) for number in each.split(".")[:2]) for each in (str(version), since)
    )
    return first >= second


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_query_reads_what_is_there_in_every_session(
    outcomes: Outcomes, minor: str, kind: str
) -> None:
    """Nothing is imported or set before the session; no query gets the rows of an earlier one."""
    assert outcomes(minor)[f"{kind}: batch read"] == BATCH_READS


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("row", ROWS)
def test_what_a_spark_has(outcomes: Outcomes, minor: str, row: str) -> None:
    """It works, or says from which version on it does."""
    found = outcomes(minor)
    expected, since = ROWS[row]
    if has(found["version"], since):
        assert found[row] == expected
    else:
        assert f"needs Spark {since} or later, and this is {found['version']}" in str(found[row])


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("minor", MINORS)
def test_conditions_choose_what_is_fetched_in_a_prepared_session(
    outcomes: Outcomes, minor: str
) -> None:
    """With `session()`, one task for one of three partitions; 4.0 reads them all."""
    found = outcomes(minor)
    assert found["session: filters"] == (1 if has(found["version"], "4.1") else 3)
