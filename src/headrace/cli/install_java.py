"""Sees to it that Spark finds a Java: part of the set-up for pipelines.

    python -m headrace.cli.install_java

If there is a Java of version 17 or newer, nothing happens. If not, the machine's own package
manager is asked to install one, provided that it can be asked without a password. Where it cannot,
one line says what to install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from headrace.java.installation import KNOWN_PLACES, JavaMissing, find_java

_TIMEOUT_S: Final = 600


class Manager(NamedTuple):
    """A package manager, and what it calls a Java: the first package that it knows is taken."""

    program: str
    install: tuple[str, ...]
    packages: tuple[str, ...]
    prepare: tuple[str, ...] = ()
    as_root: bool = True


MANAGERS: Final = (
    Manager(
        "apt-get",
        ("install", "--quiet", "--yes", "--no-install-recommends"),
        ("openjdk-17-jre-headless", "openjdk-21-jre-headless"),
        prepare=("update", "--quiet"),
    ),
    Manager(
        "dnf",
        ("install", "--quiet", "--assumeyes"),
        ("java-17-openjdk-headless", "java-21-openjdk-headless"),
    ),
    Manager("brew", ("install", "--quiet"), ("openjdk@17",), as_root=False),
)


def provide_java(environment: Mapping[str, str], places: Sequence[str] = KNOWN_PLACES) -> str:
    """A line that says which Java there is; raises JavaMissing when none can be had."""
    try:
        return f"Java is in {find_java(environment, places)}"
    except JavaMissing as missing:
        if "JAVA_HOME" in environment:
            raise  # another Java would not be used
        if not any(_install(manager, environment) for manager in MANAGERS):
            raise missing from None
        return f"Java was installed in {find_java(environment, places)}"


def _install(manager: Manager, environment: Mapping[str, str]) -> bool:
    """Whether this manager is here, may be used and has done it."""
    path = environment.get("PATH", "")
    if shutil.which(manager.program, path=path) is None:
        return False
    prefix: tuple[str, ...] = ()
    if manager.as_root and os.geteuid() != 0:
        if shutil.which("sudo", path=path) is None:
            return False
        prefix = ("sudo", "--non-interactive")  # fails instead of asking for a password
    print(f"no Java 17 found: {manager.program} installs one", file=sys.stderr)
    if manager.prepare and not _succeeds((*prefix, manager.program, *manager.prepare), environment):
        return False
    install = (*prefix, manager.program, *manager.install)
    return any(_succeeds((*install, package), environment) for package in manager.packages)


def _succeeds(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    quiet = {**environment, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=quiet, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def main() -> int:
    try:
        print(provide_java(os.environ))
    except JavaMissing as missing:
        print(f"headrace: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
