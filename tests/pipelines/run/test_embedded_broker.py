"""The broker that a run brings along."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.failures import Failure
from headrace.cli.run.embedded_broker import EmbeddedBroker
from headrace.cli.target import parse_address
from headrace.client.connection import Connection

RUNNER = """
import sys, time
from pathlib import Path
from headrace.cli.run.embedded_broker import EmbeddedBroker
with EmbeddedBroker(Path(sys.argv[1])) as broker:
    print(broker.pid, flush=True)
    time.sleep(60)
"""


def test_it_serves_while_the_block_lasts_and_leaves_a_clean_folder(tmp_path: Path) -> None:
    """Its data stays for the next start, on whichever port that will be."""
    with EmbeddedBroker(tmp_path / "broker") as broker:
        with Connection(*parse_address(broker.bootstrap_servers)) as connection:
            assert connection.served()
        assert broker.running
    assert not broker.running
    assert (tmp_path / "broker" / ".kafka_cleanshutdown").exists()


def test_it_does_not_outlive_a_runner_that_was_killed(tmp_path: Path) -> None:
    """It stops in order, though nobody could ask it to, and frees the folder for the next run."""
    data = tmp_path / "broker"
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(data)], stdout=subprocess.PIPE, text=True
    ) as runner:
        assert runner.stdout is not None
        broker = os.pidfd_open(int(runner.stdout.readline()))
        runner.kill()
        ended, _, _ = select.select([broker], [], [], 30)
        os.close(broker)
    assert ended
    assert (data / ".kafka_cleanshutdown").exists()


def test_ctrl_c_in_the_terminal_does_not_reach_it(tmp_path: Path) -> None:
    """Queries that finish their batch still need it."""
    with EmbeddedBroker(tmp_path / "broker") as broker:
        assert os.getpgid(broker.pid) != os.getpgid(0)


def test_a_folder_in_use_is_told(tmp_path: Path) -> None:
    """The broker's own words say which and why."""
    with (
        EmbeddedBroker(tmp_path / "broker"),
        pytest.raises(Failure, match=r"the embedded broker did not start: .*/broker"),
        EmbeddedBroker(tmp_path / "broker"),
    ):
        pass
