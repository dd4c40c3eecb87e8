"""Kafka's command-line tools as the checks use them: run, watched, their output kept.

A check is a function of `Tools` that asserts; `check` puts it on the list under its name. Knows
how to run a tool and read its answer, and nothing of what a right answer is.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.suites.running import Target, timed

Check = Callable[["Tools"], None]
CHECKS: dict[str, Check] = {}

_TOOL_PACKAGE = "org.apache.kafka.tools."
_NOISE = re.compile(
    r"\[\d{4}-|\S*Exception|\tat |Processed a total|The consumer rebalance protocol"
)


class Declined(Exception):
    """The broker is not set up for this check; the message says what is missing."""


class TooSlow(Exception):
    """The check used up its time."""


def check(name: str) -> Callable[[Check], Check]:
    """Put a function on the list of checks."""

    def register(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return register


class Tools:
    """Runs the tools for one check."""

    def __init__(self, home: Path, target: Target, run: str, log: Path, timeout: float) -> None:
        self.home = home
        self.target = target
        self.run = run
        self.log = log
        self._deadline = time.monotonic() + timeout
        log.touch()

    def topic(self, word: str) -> str:
        """A name that no other run uses."""
        return f"suite-{self.run}-{word}"

    def __call__(
        self,
        tool: str,
        *words: object,
        stdin: str | None = None,
        code: int | None = 0,
        bootstrap: bool = True,
        says: Sequence[str] = (),
        says_not: Sequence[str] = (),
    ) -> str:
        """A tool's output; fails unless it ends with `code` (None: any) and says what it must.

        A tool without a script of its own is named by its class.
        """
        command = self.command(tool, *words, bootstrap=bootstrap)
        self._note(f"\n$ {' '.join(command)}\n")
        start = self.log.stat().st_size
        given = None if stdin is None else stdin.encode()
        remaining = max(1.0, self._deadline - time.monotonic())
        ended, _ = timed(command, self.log, remaining, stdin=given)
        with self.log.open("rb") as log:
            log.seek(start)
            output = log.read().decode(errors="replace")
        self._note(f"[exit code {ended}]\n")
        if ended is None:
            raise TooSlow
        short = f"{tool} {' '.join(map(str, words))[:70]}"
        if code is not None:
            assert ended == code, f"{short}: exit code {ended}: {_last_line(output)}"
        for text in says:
            assert text in output, f"{short}: no {text!r} in its output"
        for text in says_not:
            assert text not in output, f"{short}: {text!r} in its output"
        return output

    def command(self, tool: str, *words: object, bootstrap: bool = True) -> list[str]:
        """The command line of a tool."""
        has_script = tool.startswith("kafka-")
        script = self.home / "bin" / (f"{tool}.sh" if has_script else "kafka-run-class.sh")
        command = [str(script)] if has_script else [str(script), _TOOL_PACKAGE + tool]
        if bootstrap:
            copier = tool == "TransactionalMessageCopier"
            option = "--broker-list" if copier else "--bootstrap-server"
            command += [option, self.target.bootstrap]
        return [*command, *map(str, words)]

    def _note(self, text: str) -> None:
        with self.log.open("a") as log:
            log.write(text)

    # -- what several checks do -------------------------------------------------------------------

    def create(self, word: str, partitions: int = 1, **config: object) -> str:
        topic = self.topic(word)
        words: list[object] = ["--create", "--topic", topic, "--partitions", partitions]
        for key, value in config.items():
            words += ["--config", f"{key.replace('_', '.')}={value}"]
        self("kafka-topics", *words, says=[f"Created topic {topic}."])
        return topic

    def offsets(self, topic: str, *words: object) -> dict[int, int]:
        """What kafka-get-offsets answers, by partition: the ends unless `words` ask otherwise."""
        output = self("kafka-get-offsets", "--topic", topic, *words)
        lines = re.finditer(rf"^{re.escape(topic)}:(\d+):(-?\d+)$", output, re.MULTILINE)
        return {int(line[1]): int(line[2]) for line in lines}

    def produce(self, topic: str, records: int, *words: object) -> None:
        """Write exactly this many records with the VerifiableProducer."""
        output = self("VerifiableProducer", "--topic", topic, "--max-messages", records, *words)
        events = events_of(output)
        acked = sum(event.get("name") == "producer_send_success" for event in events)
        assert acked == records, f"{acked} of {records} records acknowledged"

    def fill_by_performance_tool(
        self, topic: str, records: int, *properties: str, says: Sequence[str] = ()
    ) -> None:
        server = f"bootstrap.servers={self.target.bootstrap}"
        size = ["--num-records", records, "--record-size", 300, "--throughput", -1]
        words = ["--topic", topic, *size, "--producer-props", server, *properties]
        self("ProducerPerformance", *words, bootstrap=False, says=says)

    def read(
        self,
        topic: str,
        *words: object,
        isolation: str = "read_committed",
        limit: int | None = None,
    ) -> list[str]:
        """The lines of a topic from its beginning until nothing comes for 5 seconds."""
        most: list[object] = [] if limit is None else ["--max-messages", limit]
        where = ["--topic", topic, "--from-beginning", "--isolation-level", isolation]
        output = self(
            "kafka-console-consumer", *where, "--timeout-ms", 5000, *most, *words, code=None
        )
        return [line for line in output.splitlines() if line and not _NOISE.match(line)]

    def brokers(self) -> list[int]:
        """The ids of the cluster's brokers."""
        output = self("kafka-broker-api-versions")
        return sorted(int(node) for node in re.findall(r"\(id: (\d+) ", output))


def events_of(output: str) -> list[dict[str, Any]]:
    """The JSON lines in a tool's output."""
    events = []
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                events.append(json.loads(line))
            except ValueError:
                pass  # a line of the log that happens to begin with a brace
    return events


def _last_line(text: str) -> str:
    """The line that says what went wrong, as far as there is one."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    wrong = (line for line in lines if re.search(r"Exception|Error|ERROR", line))
    return next(wrong, lines[-1] if lines else "no output")[:160]
