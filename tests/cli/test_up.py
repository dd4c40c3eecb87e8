"""`headrace up`: its two parsers, its settings, and the process itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from headrace.cli import up
from headrace.cli.app import app
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.up import Request, broker_settings, default_data, parse, with_metrics
from tests.cli.conftest import Headrace


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Request()),
        (["--data", "d", "--port=0"], Request(data="d", port="0")),
        (["--set", "a=b=c", "--set=d=e"], Request(settings=("a=b=c", "d=e"))),
        (["--log-level", "info", "--only", "broker"], Request(log_level="info", only="broker")),
        (["--port", "1", "--port", "2"], Request(port="2")),
        (["--help"], None),
        (["--port"], None),
        (["--prot", "1"], None),
        (["extra"], None),
        (["-h"], None),
    ],
)
def test_the_small_parser_takes_what_is_right_and_leaves_the_rest(
    words: list[str], expected: Request | None
) -> None:
    """What it does not know is answered by typer, with help and suggestions."""
    assert parse(words) == expected


def test_both_parsers_know_the_same_options() -> None:
    """The table in `up` and the typer command never drift apart."""
    command: Any = typer.main.get_command(app)
    known = {
        name.removeprefix("--")
        for option in command.commands["up"].params
        for name in option.opts
        if name.startswith("--")
    }
    assert known - {"help"} == set(up.FLAGS)


def test_the_later_source_of_a_setting_wins(tmp_path: Path) -> None:
    """up's own choice < --config < --data, --host, --port < --set."""
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/from/file\nlisteners=PLAINTEXT://0.0.0.0:1\nnum.partitions=3\n")
    config = str(file)
    assert broker_settings(Request(), {"HEADRACE_DATA": "/d"}) == {
        "log.dirs": "/d",
        "listeners": "PLAINTEXT://127.0.0.1:9092",
    }
    assert broker_settings(Request(config=config), {"HEADRACE_DATA": "/d"}) == {
        "log.dirs": "/from/file",
        "listeners": "PLAINTEXT://0.0.0.0:1",
        "num.partitions": "3",
    }
    request = Request(
        config=config,
        data="/given",
        host="::1",
        port="2",
        settings=("num.partitions=9", "log.dirs = /set"),
    )
    assert broker_settings(request, {}) == {
        "log.dirs": "/set",
        "listeners": "PLAINTEXT://[::1]:2",
        "num.partitions": "9",
    }


def test_data_is_kept_where_users_data_is_kept() -> None:
    """$HEADRACE_DATA, then $XDG_DATA_HOME, then ~/.local/share; never the working directory."""
    assert default_data({"HEADRACE_DATA": "/d", "XDG_DATA_HOME": "/x"}) == "/d"
    assert default_data({"XDG_DATA_HOME": "/x"}) == "/x/headrace"
    assert default_data({}) == os.path.expanduser("~/.local/share/headrace")


@pytest.mark.parametrize("port", ["65536", "-1", "x", "٣"])
def test_a_port_that_cannot_be_is_wrong_usage(port: str) -> None:
    """The complaint names the option and the range."""
    with pytest.raises(WrongUsage, match="from 0 to 65535"):
        broker_settings(Request(port=port), {})


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--brokers", "0"], 2, '--brokers "0" is not a number'),
        (["--brokers", "3", "--set", "broker.id=1"], 1, "broker.id=1 is not for several brokers"),
        (["--only", "broker,console"], 2, '"console" is not a service'),
        (["--registry-port", "x"], 2, "from 0 to 65535"),
        (["--set", "x"], 2, '--set "x" has no value'),
        (["--log-level", "loud"], 2, "use debug, info, warning, error"),
        (["--log-format", "xml"], 2, "use text or json"),
        (["--config", "/no/such/file"], 1, "cannot be read (No such file"),
        (["--prot", "1"], 2, "--port"),
        (["--set", "num.partitions=none"], 1, "num.partitions"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(
    headrace: Headrace, tmp_path: Path, words: list[str], code: int, complaint: str
) -> None:
    """Each names its cause; nothing is started and no stack trace is shown."""
    outcome = headrace("up", "--data", str(tmp_path), *words)
    assert outcome.code == code
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("only", ["broker", "broker,registry"])
@pytest.mark.parametrize("brokers", ["1", "2"])
def test_a_data_folder_that_cannot_be_is_named(
    headrace: Headrace, tmp_path: Path, only: str, brokers: str
) -> None:
    """A file, or a folder inside of one: the path, the reason, and --data."""
    file = tmp_path / "README.md"
    file.write_text("text")
    for path, reason in ((file, "it is a file"), (file / "data", "Not a directory")):
        words = ("--data", str(path), "--only", only, "--port", "0", "--brokers", brokers)
        outcome = headrace("up", *words)
        assert outcome.code == 1
        assert f"{path} cannot be used as a data folder ({reason})" in outcome.err
        assert "--data" in outcome.err
        assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("words", [(), ("--only", "broker"), ("--brokers", "2")], ids=" ".join)
def test_a_port_in_use_is_reported_with_its_owner_and_the_option(
    headrace: Headrace, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """--port chose it, so --port is the remedy, and not `listeners`."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = headrace("up", "--data", str(tmp_path / "data"), "--port", port, *words)
        assert outcome.code == 1
        assert f"127.0.0.1:{port}, which is in use by " in outcome.err
        assert f"pid {os.getpid()}" in outcome.err
        assert "--port; 0 takes a free one" in outcome.err
        assert "listeners" not in outcome.err


def test_an_address_of_another_machine_is_reported(headrace: Headrace, tmp_path: Path) -> None:
    """192.0.2.0/24 is nobody's: the option that named it is the remedy."""
    words = ("--host", "192.0.2.1", "--only", "broker", "--data", str(tmp_path))
    outcome = headrace("up", *words)
    assert outcome.code == 1
    assert "cannot listen on 192.0.2.1:9092" in outcome.err
    assert "--host" in outcome.err


def test_a_config_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Any bytes in the file give a clear error."""
    file = tmp_path / "server.properties"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Failure, match="it is not UTF-8"):
        broker_settings(Request(config=str(file)), {})


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "headrace", "up", "--only", "broker", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_up_prints_its_ready_lines_and_stops_in_order(tmp_path: Path, stop: signal.Signals) -> None:
    """Port 0 takes a free one and the line names it; both signals end with exit code 0."""
    with start("--data", str(tmp_path / "data"), "--port", "0") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("broker ready on 127.0.0.1:")
        assert line.endswith(f" (data in {tmp_path / 'data'})\n")
        port = int(line.split()[3].rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), 5).close()
        assert process.stdout.readline().startswith("metrics ready on http://127.0.0.1:")
        process.send_signal(stop)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "", "")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_one_of_several_brokers_has_the_metrics() -> None:
    """The port is taken, not looked at: brokers that start together all start."""
    request = Request(host="127.0.0.94")
    first, taken, left_out = with_metrics(request, {})
    assert taken is not None
    with taken:
        assert (first["metrics.listener"], left_out) == ("127.0.0.94:9404", "")
        second, other, left_out = with_metrics(request, {})
        assert (second["metrics.listener"], other) == ("", None)
        assert left_out.startswith("metrics left out: 127.0.0.94:9404 is in use; --set ")


def test_a_broker_loads_no_terminal_library() -> None:
    """The process that a broker lives in stays small: no typer, no rich, no client."""
    code = (
        "import sys\n"
        "from headrace.cli import up\n"
        "import headrace.broker.app\n"
        "heavy = {'typer', 'rich', 'click', 'confluent_kafka', 'argparse', 'pydantic'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    """The line names the address and where to look."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with start("--data", str(tmp_path), "--port", str(port)) as process:
            _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in err
    assert "Traceback" not in err


def test_a_folder_in_use_is_told(tmp_path: Path) -> None:
    """Two brokers never share a folder."""
    with start("--data", str(tmp_path), "--port", "0") as first:
        assert first.stdout is not None
        first.stdout.readline()
        with start("--data", str(tmp_path), "--port", "0") as second:
            _, err = second.communicate(timeout=30)
        first.terminate()
        first.communicate(timeout=30)
    assert second.returncode == 1
    assert str(tmp_path) in err
    assert "Traceback" not in err
