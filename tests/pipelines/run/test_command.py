"""`headrace run` as a user types it: a process of its own, with a Spark of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from examples.topics import Draft, send
from headrace.cli import main
from headrace.cli.failures import WrongUsage
from headrace.cli.run.brokers import Brokers, Origin, choose_brokers
from headrace.cli.run.request import default_state
from headrace.testing import Broker

PIPELINES = Path(__file__).with_name("shop.py")
TIMEOUT_S = 400


class Running:
    """One `headrace run` in the background."""

    def __init__(self, state: Path, quick_start: str, *words: str) -> None:
        environment = {**os.environ, "SHOP_OUT": str(state / "out"), "HEADRACE_STATE": str(state)}
        environment.pop("HEADRACE_BOOTSTRAP_SERVERS", None)
        options = ["--master", "local[2]", "--set", f"spark.driver.extraJavaOptions={quick_start}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace", "run", *words, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def await_line(self, text: str) -> str:
        """The first line of standard output with this text in it."""
        stream: IO[str] | None = self.process.stdout
        assert stream is not None
        for line in stream:
            if text in line:
                return line
        raise AssertionError(f"no line with {text!r}; stderr: {self.finish()[2]}")

    def finish(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def headrace_run(state: Path, quick_start: str) -> Iterator[Callable[..., Running]]:
    """Starts runs and makes sure that none outlives the test."""
    started: list[Running] = []

    def start(*words: str) -> Running:
        started.append(Running(state, quick_start, *words))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate(timeout=TIMEOUT_S)


def command(capsys: pytest.CaptureFixture[str], state: Path, *words: str) -> tuple[int, str, str]:
    """A `headrace run` that needs no Spark, in this process."""
    code = main(["run", *words, "--state", str(state)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_failure_is_told_and_the_pipeline_goes_on(
    headrace_run: Callable[..., Running], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The story of one run: broker, failure, restart, progress, what others see, SIGTERM."""
    running = headrace_run(f"{PIPELINES}:poison", "--name", "till", "--broker")
    assert running.await_line("broker ready at 127.0.0.1:")
    failure = running.await_line("failed:")
    assert failure.startswith("priced: failed: ValueError: poison in the till; the pipeline restar")
    assert "Traceback" in (state / "till" / "failure.txt").read_text()
    running.await_line("running: ")
    running.await_line("counted: batch")

    code, out, _ = command(capsys, state, "--list", "--output", "json")
    (report,) = json.loads(out)
    assert code == 0
    assert (report["name"], report["state"], report["restarts"]) == ("till", "running", 1)
    assert report["pid"] == running.process.pid
    counted = next(query for query in report["queries"] if query["query"] == "counted")
    assert counted["state_rows"] is not None
    assert command(capsys, state, "--list")[1].splitlines()[1].split()[:2] == ["till", "running"]

    for words in (["--reset", "till", "--yes"], [f"{PIPELINES}:poison", "--name", "till"]):
        code, _, err = command(capsys, state, *words)
        assert code == 1
        assert f"is running already (process {running.process.pid})" in err
        assert err.count("\n") == 1

    running.process.send_signal(signal.SIGTERM)
    code, out, err = running.finish()
    assert code == 0, err
    assert "stopping: priced, counted" in out
    assert out.endswith("stopped\n")
    assert (state / "till" / "broker" / ".kafka_cleanshutdown").exists()
    assert sorted(path.name for path in (state / "till" / "checkpoints").iterdir()) == [
        "counted",
        "priced",
    ]

    assert command(capsys, state, "--list")[1].splitlines()[1].split()[:2] == ["till", "stopped"]
    assert command(capsys, state, "--stop", "till")[2] == 'headrace: "till" is not running\n'
    code, out, _ = command(capsys, state, "--reset", "till", "--yes")
    assert (code, out.rpartition(": ")[2]) == (0, "counted, priced\n")
    assert not (state / "till" / "checkpoints").exists()


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_topics_of_the_embedded_broker_become_rows(
    headrace_run: Callable[..., Running], state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but the pipeline is given; each progress is a document; `--stop` ends it."""
    import pyarrow.dataset

    running = headrace_run(f"{PIPELINES}:round_trip", "--output", "json", "--broker")
    progress = json.loads(running.await_line('"input_rows": 1000'))
    assert (progress["query"], progress["lag"]) == ("copied", 0)
    assert command(capsys, state, "--stop", "shop.round_trip")[:2] == (
        0,
        "shop.round_trip: stopped\n",
    )
    code, _, err = running.finish()
    assert code == 0, err
    rows = pyarrow.dataset.dataset(state / "out", format="parquet").to_table()
    assert sorted(map(int, rows["value"].to_pylist())) == list(range(1000))


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_what_would_fail_again_ends_the_run_at_once(
    headrace_run: Callable[..., Running], state: Path
) -> None:
    """One line with the cause, none of Java's; a topic that a query reads is there by then."""
    running = headrace_run(f"{PIPELINES}:not_installed", "--broker")
    code, out, err = running.finish()
    assert code == 1, err
    assert "restarts in" not in out
    (line,) = err.splitlines()
    assert line.startswith('headrace: query "priced" failed: ModuleNotFoundError: No module named')
    assert "; it is not restarted, as it would fail again: correct it first; all that Spark" in line
    assert "\n\tat " not in out + err
    assert (state / "shop.not_installed" / "spark.log").stat().st_size
    assert (state / "shop.not_installed" / "broker" / "letters-0").is_dir()


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_the_first_pipeline_of_the_readme_counts_what_was_written(
    headrace_run: Callable[..., Running],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    headrace_broker: Broker,
) -> None:
    """What was typed before it started; its group has the name of the run."""
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    (code,) = re.findall(r"```python\n(# shop\.py\n.*?)```", readme, re.DOTALL)
    (tmp_path / "shop.py").write_text(code)
    servers = ["-b", headrace_broker.bootstrap_servers]
    send(headrace_broker.bootstrap_servers, "orders", [Draft("2 apples", "alice")] * 2)
    send(headrace_broker.bootstrap_servers, "orders", [Draft("1 pear", "bob")])

    running = headrace_run(f"{tmp_path}/shop.py:orders", "--once", *servers)
    status, out, err = running.finish()
    assert (status, err) == (0, ""), out
    assert main(["consume", "per-customer", "--format", "%k = %v\\n", *servers]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ["alice = 2", "bob = 1"]
    assert main(["group", "list", *servers]) == 0
    assert re.search(r"^shop\.orders-[0-9a-f]{8}-", capsys.readouterr().out, re.MULTILINE)


def test_brokers_are_those_named_then_those_here_then_its_own() -> None:
    """A private one on demand; none where workers elsewhere could not reach it."""
    option, own, none = Origin.OPTION, Brokers(None, Origin.OWN), Brokers(None, Origin.NONE)
    assert choose_brokers("k:1", option, own=None, is_local=True) == Brokers("k:1", option)
    assert choose_brokers("k:1", Origin.ENVIRONMENT, own=True, is_local=True) == own
    assert choose_brokers(None, option, own=True, is_local=True) == own
    assert choose_brokers(None, option, own=False, is_local=True) == none
    assert choose_brokers(None, option, own=None, is_local=False) == none
    with Broker() as broker:
        here = broker.bootstrap_servers
        found = choose_brokers(None, option, own=None, is_local=True, here=here)
        assert found == Brokers(here, Origin.MACHINE)
    assert choose_brokers(None, option, own=None, is_local=True, here=here) == own
    for local in (True, False):
        with pytest.raises(WrongUsage, match="--broker"):
            choose_brokers("k:1", option, own=True, is_local=local)


def test_a_pipeline_can_see_how_its_brokers_were_chosen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a profile, the environment, or the command line, which is the strongest."""
    (tmp_path / "asks.py").write_text(
        "import os; print(os.environ['HEADRACE_BROKERS_BY'], os.environ['HEADRACE_RUN'],\n"
        "    os.environ.get('HEADRACE_BOOTSTRAP_SERVERS'))"
    )
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HEADRACE_BOOTSTRAP_SERVERS", raising=False)

    def asks(*words: str) -> str:
        monkeypatch.delitem(sys.modules, "asks", raising=False)
        return command(capsys, tmp_path / "state", f"{tmp_path}/asks.py:nope", *words)[1]

    assert asks("--no-broker") == "none asks.nope None\n"
    assert main(["profile", "create", "prod", "-b", "kafka:1", "--use"]) == 0
    capsys.readouterr()
    assert asks() == "profile asks.nope kafka:1\n"
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "kafka:2")
    assert asks() == "environment asks.nope kafka:2\n"
    assert asks("-b", "kafka:3", "--name", "mine") == "option mine kafka:3\n"
    assert os.environ["HEADRACE_BOOTSTRAP_SERVERS"] == "kafka:2"


def test_what_cannot_be_run_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Spark starts, and without leaving a folder behind for a name that was mistyped."""
    state = tmp_path / "state"
    for words, code, complaint in (
        ([], 2, "exactly one of a pipeline, --list, --stop and --reset"),
        (["x:y", "--list"], 2, "exactly one of a pipeline"),
        (["shop"], 1, "write MODULE:FUNCTION"),
        (["hr_no_module:x"], 1, "there is no module hr_no_module"),
        ([f"{tmp_path}/none.py:x"], 1, f"there is no file {tmp_path}/none.py"),
        ([f"{PIPELINES}:x", "--name", "../x"], 1, "is not a name for a run"),
        ([f"{PIPELINES}:x", "--set", "a"], 2, '--set "a" has no value'),
        (["--stop", "x"], 1, 'there is no run "x"'),
        (["--reset", "x", "--yes"], 1, 'there is no run "x"'),
    ):
        found, _, err = command(capsys, state, *words)
        assert (found, err.count("\n")) == (code, 1), err
        assert complaint in err
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, _, err = command(capsys, state, f"{PIPELINES}:totals")
    assert code == 1
    assert "there is no bin/java; install Java 17 or newer: apt install" in err
    assert err.count("\n") == 1
    assert not state.exists()


def test_a_missing_function_is_told_before_spark_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module is imported when the broker is up, because it may ask for its address.

    What was never begun is no run, either.
    """
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "")
    code, out, err = command(capsys, tmp_path, f"{PIPELINES}:total", "--broker")
    assert code == 1
    assert err.endswith("shop.py has no function total; it has totals\n")
    assert "starting Spark" not in out
    assert command(capsys, tmp_path, "--list") == (0, f"no runs in {tmp_path}\n", "")


def test_an_empty_list_says_where_it_looked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Another state folder is the usual reason."""
    assert command(capsys, tmp_path, "--list") == (0, f"no runs in {tmp_path}\n", "")


def test_state_is_kept_where_users_data_is_kept() -> None:
    """Beside the records of `headrace up`, never in the working directory."""
    assert default_state({"XDG_DATA_HOME": "/x"}) == Path("/x/headrace-pipelines")
    assert default_state({}) == Path("~/.local/share/headrace-pipelines").expanduser()
