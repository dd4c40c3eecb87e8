"""The labs as a whole: which there are, how they are run, and that a broken promise is noticed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import examples.labs
from examples.cluster.lab import LabFailed, shell
from examples.labs import __main__ as runner
from examples.labs import catalogue, lego, single_node, staging
from examples.labs.catalogue import LABS, Lab, Stage
from headrace.testing import Broker

FOLDER = Path(examples.labs.__path__[0])
GUIDE = FOLDER.parents[1] / "docs" / "guides" / "start" / "labs.md"


def test_every_lab_is_listed() -> None:
    """A module that can be run is in the catalogue, and what is in it can be run."""
    runnable = {
        ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
        for path in FOLDER.rglob("*.py")
        if re.search(r"^    (on_\w+|alone)\(story\)$", path.read_text(), re.MULTILINE)
    }
    single = {name for name in runnable if re.fullmatch(r"labs\.problems\.[a-f]_\w+", name)}
    assert len(single) == 6
    listed = {lab.module for lab in LABS}
    assert runnable - single == {name for name in listed if name.startswith("labs.")}
    assert all(callable(lab.story()) for lab in LABS)


def test_the_guide_has_every_lab() -> None:
    """Command and what it shows, as the runner lists them."""
    text = GUIDE.read_text()
    missing = [lab.name for lab in LABS if f"| `{lab.command}` | {lab.shows} |" not in text]
    assert missing == []


def test_a_broken_promise_is_noticed(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runner goes on with the other labs, sums up, and ends with 1."""

    def broken(_broker: Broker) -> None:
        staging.expect(1 + 1, 3, "one and one")

    def kept(_broker: Broker) -> None:
        staging.check(True, "all is well")

    monkeypatch.setattr(single_node, "story", broken)
    monkeypatch.setattr(lego, "story", kept)
    labs = [lab for lab in LABS if lab.name in ("single_node", "lego")]
    outcomes = [runner.run_lab(lab, broker) for lab in labs]
    assert [outcome.fault for outcome in outcomes] == ["one and one: found 2, wanted 3", ""]
    assert runner.summary(outcomes).endswith("1 failed")
    assert "✓ all is well" in capsys.readouterr().out


def test_a_single_lab_ends_with_the_right_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 if its promises were kept, 1 and a line if not."""
    monkeypatch.setattr("sys.argv", ["lab"])
    with pytest.raises(SystemExit) as kept:
        staging.alone(lambda: None)
    assert kept.value.code == 0
    with pytest.raises(SystemExit, match="the lab failed: this is not so: water flows uphill"):
        staging.alone(lambda: staging.check(False, "water flows uphill"))

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        staging.alone(interrupted)
    assert ended.value.code == 130


@pytest.mark.parametrize(("word", "code"), [("--help", 0), ("--fast", 2)])
def test_a_single_lab_says_what_it_is(word: str, code: int) -> None:
    """Asked for help, or given what it does not take: nothing is set up for that."""
    command = [sys.executable, "-m", "examples.labs.lego", word]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == code
    assert "python -m examples.labs.lego" in ended.stdout
    assert "A broker of our own" not in ended.stdout
    assert ("a lab takes no arguments: --fast" in ended.stderr) == (code == 2)


def test_a_command_must_end_as_expected(broker: Broker) -> None:
    """A tool that fails ends a lab, one that was to fail and does not as well."""
    where = ("--bootstrap-server", broker.bootstrap_servers)
    with pytest.raises(LabFailed, match="kafka-topics ended with 1"):
        shell("kafka-topics", *where, "--describe", "--topic", "nowhere")
    with pytest.raises(LabFailed, match="ended with 0, not with 1"):
        shell("kafka-topics", *where, "--list", code=1)


def test_an_unknown_lab_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """The list shows what there is."""
    with pytest.raises(SystemExit) as ended:
        runner.main(["no_such_lab"])
    assert ended.value.code == 2
    assert runner.main(["--list"]) == 0
    assert "python -m examples.labs.lego" in capsys.readouterr().out
    assert catalogue.find("stock.producing") == Lab(
        "labs.stock.producing", Stage.CLUSTER, "interceptor, partitioner, batches, retries, metrics"
    )
