"""kafka-python's own integration tests against any broker.

    python -m tests.suites.kafka_python 127.0.0.1:9092 --tests "group or transactional"

The source archive and a virtual environment of its own come into the cache on first use.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tarfile
import threading
from collections.abc import Collection
from pathlib import Path

from tests.kafka.toolchain import cache_dir, fetched
from tests.suites.running import (
    Report,
    Result,
    Results,
    SuiteFailed,
    Target,
    exit_code,
    log_folder,
    must,
    say,
    timed,
    write_results,
)

VERSION = "3.0.12"
BROKER_VERSION = "4.3.0"
SUITE_TIMEOUT_SECONDS = 3600
PLUGIN = Path(__file__).resolve().parent / "plugin"
RUNNER = ("pytest==9.2.0", "pytest-mock==3.17.0", "pytest-timeout==2.4.0", "py==1.11.0")
START_BROKERS_THEMSELVES = ("test_sasl_integration.py", "test_ssl_integration.py")


def prepare() -> tuple[Path, Path]:
    """The suite's interpreter, and the folder of the unpacked archive."""

    def fill(home: Path) -> None:
        log = cache_dir() / "kafka-python-install.log"
        log.write_bytes(b"")
        say(f"installing kafka-python {VERSION}; log: {log}")
        python = home / "venv" / "bin" / "python"
        archive = home / f"kafka_python-{VERSION}.tar.gz"
        must([sys.executable, "-m", "venv", home / "venv"], log)
        source_only = ["--no-deps", "--no-binary", ":all:", "-d", str(home)]
        must([python, "-m", "pip", "download", *source_only, f"kafka-python=={VERSION}"], log)
        with tarfile.open(archive) as tar:
            tar.extractall(home, filter="data")
        library = f"{home / f'kafka_python-{VERSION}'}[crc32c,lz4,snappy,zstd]"
        must([python, "-m", "pip", "install", library, *RUNNER], log)
        shutil.rmtree(home / f"kafka_python-{VERSION}" / "build", ignore_errors=True)

    home = fetched(f"kafka-python-{VERSION}", fill)
    return home / "venv" / "bin" / "python", home / f"kafka_python-{VERSION}"


def run(
    target: Target, *, tests: Collection[str] | None = None, timeout_seconds: float = 120
) -> Results:
    """Run all tests, or those named as in the results."""
    words = []
    for name in tests or ():
        file, _, test = name.partition("::")
        words.append(f"test/integration/{file}_integration.py::{test}")
    return _pytest(target, words or ["test/integration"], timeout_seconds)


def _pytest(target: Target, words: list[str], timeout_seconds: float) -> Results:
    python, source = prepare()
    _, logs = log_folder("kafka-python")
    results = logs / "results.jsonl"
    results.touch()
    command: list[str | Path] = [python, "-m", "pytest", "-p", "kafka_python_plugin"]
    command += ["-p", "no:cacheprovider", "-o", "addopts=", "-rA", "--tb=long"]
    command += ["--timeout", str(timeout_seconds), "--timeout-method=signal"]
    command += [f"--ignore=test/integration/{name}" for name in START_BROKERS_THEMSELVES]
    env = {
        **os.environ,
        "KAFKA_URI": f"PLAINTEXT://{target.bootstrap}",
        "KAFKA_VERSION": BROKER_VERSION,
        "KAFKA_ROOT": str(source),
        "PYTHONPATH": f"{PLUGIN}:{source}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SUITE_RESULTS": str(results),
    }
    ended: list[int | None] = []

    def work() -> None:
        code, _ = timed(
            [*command, *words], logs / "pytest.log", SUITE_TIMEOUT_SECONDS, env=env, cwd=source
        )
        ended.append(code)

    say(f"output in {logs / 'pytest.log'}")
    report = Report(f"kafka-python {VERSION}")
    worker = threading.Thread(target=work)
    worker.start()
    _follow(results, worker, report)
    if not report.results or ended[0] not in (0, 1):
        last_words = (logs / "pytest.log").read_text(errors="replace")[-2000:]
        raise SuiteFailed(f"{last_words}\npytest ended with {ended[0]}")
    return report.finish()


def _follow(results: Path, worker: threading.Thread, report: Report) -> None:
    """Report the lines that the plugin writes, as they come, until pytest has ended."""
    with results.open() as lines:
        running = True
        while running:
            running = worker.is_alive()
            while line := lines.readline():
                test = json.loads(line)
                name = test["test"].removeprefix("test/integration/")
                name = name.replace("_integration.py::", "::")
                report.add(name, Result(test["result"]), test["seconds"], test["note"][:160])
            worker.join(0.5)


def main() -> int:
    parser = argparse.ArgumentParser(description="kafka-python's tests against any broker.")
    parser.add_argument("bootstrap", help="host:port")
    parser.add_argument("--tests", metavar="EXPRESSION", help="as pytest -k takes it")
    parser.add_argument("--timeout", type=float, default=120, help="seconds per test")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write {test: result}")
    options = parser.parse_args()
    chosen = ["-k", options.tests] if options.tests else []
    words = [*chosen, "test/integration"]
    results = _pytest(Target(options.bootstrap), words, options.timeout)
    if options.json:
        write_results(options.json, results)
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main())
