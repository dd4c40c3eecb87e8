"""Fetches jars with Maven, once, into the project's cache: a whole Apache Kafka first of all.

The jars lie flat in `${HEADRACE_CACHE:-.cache}/kafka-<version>`, a folder that the compatibility
tests use as well, under the same lock: whoever comes first downloads for both.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.errors import BenchmarkError

REPOSITORY = Path(__file__).resolve().parents[2]
VERSION = "4.3.1"

_HERE = Path(__file__).resolve().parent
_OLDEST_JAVA = 17
_DOWNLOAD_TIMEOUT_S = 600


def cache_folder() -> Path:
    return Path(os.environ.get("HEADRACE_CACHE") or REPOSITORY / ".cache").resolve()


def class_path(version: str) -> str:
    """The jars of this Kafka version as a Java class path; downloads them when they are missing."""
    what = f"Apache Kafka {version}"
    folder = fetched(f"kafka-{version}", _HERE / "pom.xml", what, f"-Dkafka.version={version}")
    return f"{folder}/*"


def fetched(name: str, pom: Path, what: str, *options: str) -> Path:
    """The folder of the cache that holds the jars of a `pom.xml`; filled when it is missing."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _download(pom, folder, what, options)
    return folder


def check_java() -> str:
    """The version of the JDK on the path, once it is known to be good enough."""
    for tool in ("java", "javac"):
        if shutil.which(tool) is None:
            raise BenchmarkError(f"{tool} is not on PATH: install a JDK {_OLDEST_JAVA} or newer")
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=60).stderr
    found = re.search(r'version "((\d+)[^"]*)"', told)
    if found is None or int(found[2]) < _OLDEST_JAVA:
        version = found[1] if found else "unknown"
        raise BenchmarkError(f"java is version {version}: install a JDK {_OLDEST_JAVA} or newer")
    return found[1]


def _download(pom: Path, folder: Path, what: str, options: Sequence[str]) -> None:
    if shutil.which("mvn") is None:
        raise BenchmarkError(
            f"no mvn on PATH: install Maven, or put the jars of {what} into {folder}"
        )
    print(f"fetching {what} with Maven into {folder}", flush=True)
    # The folder is complete or absent: an interrupted download is never taken for a whole one.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="maven-download-") as scratch:
        jars = Path(scratch, "jars")
        command = ["mvn", "-q", "-B", "-f", str(pom), *options]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        command += [f"-DoutputDirectory={jars}"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT_S
            )
        except subprocess.TimeoutExpired as error:
            raise BenchmarkError(f"Maven took longer than {_DOWNLOAD_TIMEOUT_S} s") from error
        if done.returncode:
            told = (done.stdout + done.stderr)[-2000:]
            raise BenchmarkError(f"Maven could not fetch {what}:\n{told}")
        jars.rename(folder)
