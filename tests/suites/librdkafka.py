"""librdkafka's own broker tests against any broker: one process per test number.

    python -m tests.suites.librdkafka 127.0.0.1:9092 --protocol consumer --tests 0001,0004

The runner's quick mode (``-Q``) silently drops every subtest not marked quick, and the test
still counts as passed. So it is used only for numbers whose sources have no such subtest, and a
pass without a single subtest, where there should be some, is a SKIP.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.suites.kafka_home import kafka_home
from tests.suites.librdkafka_build import (
    VERSION,
    Declared,
    declared,
    prepare,
    quick_mode_hollows_out,
)
from tests.suites.running import (
    Report,
    Result,
    Results,
    Target,
    exit_code,
    log_folder,
    must,
    say,
    timed,
    write_results,
)

BROKER_VERSION = "4.3.0"
MOCK_ONLY = {"0139_offset_validation_mock", "0150_telemetry_mock"}
SHARE_TEST = re.compile(r"01[78]\d_share_")
SHARE_TIMEOUT_SECONDS = 900

# For every change: produce, fetch, offsets, groups, transactions, admin, within three minutes.
_QUICK: list[int] = [
    *(1, 2, 5, 8, 11, 12, 13, 17, 18, 19, 22, 29, 30, 31, 34, 36, 54, 59, 63, 69, 70, 73),
    *(81, 85, 90, 99, 129, 130, 140),
]
QUICK = frozenset(f"{number:04d}" for number in _QUICK)
QUICK_SUBTESTS = {"0081": "Topics"}  # of its two minutes only subtests with this in their name


@dataclass(frozen=True, slots=True)
class Choice:
    """Which tests to run, and how."""

    protocol: str = "classic"  # of the consumers' groups: classic or consumer (KIP-848)
    scenario: str = "default"  # noautocreate: for a broker with auto.create.topics.enable=false
    numbers: frozenset[str] | None = None
    quick: bool = False  # the quick set, unless numbers are given, and of some tests a part
    sockem: bool = False  # also tests that emulate a bad network inside the client
    share: bool = False
    idempotent: bool = False
    jobs: int = 1
    timeout_seconds: float = 300
    client_properties: tuple[str, ...] = ()

    def why_not(self, test: Declared) -> str | None:
        """The reason to leave a test out, or None."""
        if "TEST_F_LOCAL" in test.flags or test.name in MOCK_ONLY:
            return "local or mock: needs no broker"
        if "TEST_F_MANUAL" in test.flags:
            return "manual"
        if re.search(r"TEST_F_KNOWN_ISSUE\b", test.flags):
            return "marked as a known issue by librdkafka itself"
        if "TEST_F_SOCKEM" in test.flags and not self.sockem:
            return "emulates network faults in the client: --sockem"
        if SHARE_TEST.match(test.name) and not self.share:
            return "share groups, minutes each: --share"
        if self.scenario not in test.scenarios:
            return f"for another broker: --scenario {test.scenarios[0]}"
        numbers = QUICK if self.quick and self.numbers is None else self.numbers
        return None if numbers is None or test.number in numbers else "not chosen"


def select(choice: Choice) -> dict[str, list[str]]:
    """The names of the tests that this choice runs, by number."""
    numbers: dict[str, list[str]] = {}
    for test in declared(prepare()):
        if choice.why_not(test) is None:
            numbers.setdefault(test.number, []).append(test.name)
    return numbers


def run(target: Target, choice: Choice) -> Results:
    """Run the chosen tests; every one of them has a result afterwards."""
    numbers = select(choice)
    session = _Session(prepare(), target, choice)
    say(f"{len(numbers)} test numbers, logs in {session.logs}")
    idempotent = ", idempotent" if choice.idempotent else ""
    title = f"librdkafka {VERSION} ({choice.protocol}{idempotent}, {choice.scenario})"
    report = Report(title)
    with ThreadPoolExecutor(choice.jobs) as pool:
        runs = [pool.submit(session.run, *each, report) for each in numbers.items()]
        for each in runs:
            each.result()
    return report.finish()


class _Session:
    """One run of the suite: its folder of logs, its environment, its command line."""

    def __init__(self, tests: Path, target: Target, choice: Choice) -> None:
        self._tests = tests
        self._choice = choice
        run, self.logs = log_folder("librdkafka")
        settings = self.logs / "test.conf"
        settings.write_text(
            f"bootstrap.servers={target.bootstrap}\ntest.topic.prefix=rdk{run}\n"
            "test.timeout.multiplier=2\nbroker.address.family=v4\n"
            + "".join(f"{line}\n" for line in choice.client_properties)
        )
        self._env = self._environment(settings, target.bootstrap)
        self._command = ["./test-runner", "-p1", "-L", "-s", choice.scenario]
        self._command += [] if choice.sockem else ["-E"]
        self._command += ["-P"] if choice.idempotent else []

    def _environment(self, settings: Path, bootstrap: str) -> dict[str, str]:
        ours = ("TESTS", "SUBTESTS", "CI", "TEST_CONSUMER_GROUP_PROTOCOL", "KAFKA_PATH")
        env = {key: value for key, value in os.environ.items() if key not in ours}
        source = self._tests.parent
        env |= {
            "RDKAFKA_TEST_CONF": str(settings),
            "TEST_KAFKA_VERSION": BROKER_VERSION,
            "BROKERS": bootstrap,
            "TERM": "dumb",
            "LD_LIBRARY_PATH": f"{source / 'src'}:{source / 'src-cpp'}",
        }
        if self._choice.protocol == "consumer":
            env["TEST_CONSUMER_GROUP_PROTOCOL"] = "consumer"
        if shutil.which("java"):  # some tests call Kafka's shell tools
            env["KAFKA_PATH"] = str(kafka_home())
            must(["make", "-s", "java"], self.logs / "java.log", cwd=self._tests, env=env)
        return env

    def run(self, number: str, names: list[str], report: Report) -> None:
        """Run one number and report the tests that it consists of."""
        log, states_file = self.logs / f"{number}.log", self.logs / f"{number}.json"
        has_subtests = quick_mode_hollows_out(self._tests, number)
        env = {**self._env, "TESTS": number, "TEST_REPORT": str(states_file)}
        if self._choice.quick and number in QUICK_SUBTESTS:
            env["SUBTESTS"] = QUICK_SUBTESTS[number]
        command = self._command if has_subtests else [*self._command, "-Q"]
        timeout_seconds = self._choice.timeout_seconds
        if SHARE_TEST.match(names[0]):
            timeout_seconds = max(timeout_seconds, SHARE_TIMEOUT_SECONDS)
        code, seconds = timed(command, log, timeout_seconds, env=env, cwd=self._tests)
        states = _read_states(states_file)
        output = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
        for name in names:
            result, note = _result(name, code, states, output)
            took = states.get(name, {}).get("duration") or seconds
            if result is Result.PASS and not note and took < 1 and has_subtests:
                result, note = Result.SKIP, "passed without running a subtest"
            report.add(name, result, took, note[:160])


def _read_states(file: Path) -> Mapping[str, Any]:
    """What the runner reported of its tests; nothing if it died or wrote half a report."""
    try:
        states: Mapping[str, Any] = json.loads(file.read_text(errors="replace"), strict=False)[
            "tests"
        ]
    except (OSError, ValueError, KeyError):
        return {}
    return states


def _result(
    name: str, code: int | None, states: Mapping[str, Any], output: str
) -> tuple[Result, str]:
    """One test's result and a note, from the runner's report or else from its output."""
    lines = [line for line in output.splitlines() if re.search(rf"\b{name}\b", line)]
    state = states.get(name, {}).get("state")
    if state is None:
        words = re.findall(rf"Test {name} (PASSED|FAILED)", "\n".join(lines))
        state = words[-1] if words else None
    table = next((line for line in reversed(lines) if line.startswith("|")), "")
    why = re.search(rf'^### Test "{name}\b.* failed at .*\n(.*)', output, re.MULTILINE)
    note = why[1].strip() if why else table.rsplit("|", 1)[-1].strip()
    if state == "PASSED":
        subtests = sum(bool(re.search(r"\[ .*: PASS \(", line)) for line in lines)
        return Result.PASS, f"{subtests} subtests" if subtests else ""
    if state == "SKIPPED":
        return Result.SKIP, note
    if state is None and code is None:
        return Result.TIMEOUT, ""
    return Result.FAIL, note or f"exit code {code}"


def numbers_of(tests: Collection[str]) -> frozenset[str]:
    """The numbers that these tests belong to."""
    return frozenset(test[:4] for test in tests)


def main() -> int:
    parser = argparse.ArgumentParser(description="librdkafka's tests against any broker.")
    parser.add_argument("bootstrap", nargs="?", help="host:port, IPv4")
    parser.add_argument("--protocol", choices=("classic", "consumer"), default="classic")
    parser.add_argument("--scenario", choices=("default", "noautocreate"), default="default")
    parser.add_argument("--quick", action="store_true", help="only the quick set")
    parser.add_argument("--tests", help="only these numbers, comma separated")
    parser.add_argument("--timeout", type=float, default=300, help="seconds per number")
    parser.add_argument("--sockem", action="store_true", help="also tests with a bad network")
    parser.add_argument("--share", action="store_true", help="also share groups, 0170-0185")
    parser.add_argument("--idempotent", action="store_true", help="idempotence everywhere")
    parser.add_argument("--jobs", type=int, default=1, help="at a time; above 2 tests wobble")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write {test: result}")
    parser.add_argument("--list", action="store_true", help="every test, or why it is left out")
    options = parser.parse_args()
    choice = Choice(
        protocol=options.protocol,
        scenario=options.scenario,
        numbers=frozenset(options.tests.split(",")) if options.tests else None,
        quick=options.quick,
        sockem=options.sockem,
        share=options.share,
        idempotent=options.idempotent,
        jobs=options.jobs,
        timeout_seconds=options.timeout,
        client_properties=tuple(options.conf),
    )
    if options.list:
        for test in declared(prepare()):
            sys.stdout.write(f"{test.name}  {choice.why_not(test) or '-'}\n")
        return 0
    if options.bootstrap is None:
        parser.error("the broker's address is missing")
    results = run(Target(options.bootstrap), choice)
    if options.json:
        write_results(options.json, results)
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main())
