"""The set-up of Java, with package managers that only pretend."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from headrace.cli.install_java import provide_java
from headrace.java.installation import JavaMissing


class Machine:
    """A machine with some programs and a place where a JDK may appear."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.jvm = folder / "jvm"
        self.jvm.mkdir()
        self.log = folder / "log"
        self.log.touch()
        self.environment = {"PATH": f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin"}
        self.places = (f"{self.jvm}/*",)

    def add_program(self, name: str, script: str) -> None:
        program = self.bin / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.log}\n{script}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def add_jdk(self, version: str = "17.0.1") -> str:
        """Shell commands that make a JDK, as an installed package would."""
        home = self.jvm / "jdk"
        return (
            f"mkdir -p {home}/bin && touch {home}/bin/java && chmod +x {home}/bin/java && "
            f"echo 'JAVA_VERSION=\"{version}\"' > {home}/release"
        )

    def provide(self) -> str:
        return provide_java(self.environment, self.places)

    @property
    def calls(self) -> list[str]:
        return [line.split(" ")[0] for line in self.log.read_text().splitlines()]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Without the real Java of this computer on its path, and with root's rights."""
    made = Machine(tmp_path)
    made.environment["PATH"] = str(made.bin)
    for tool in ("sh", "mkdir", "touch", "chmod", "echo"):
        found = next(Path(p) / tool for p in ("/bin", "/usr/bin") if (Path(p) / tool).exists())
        (made.bin / tool).symlink_to(found)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return made


def test_a_java_that_is_there_is_left_alone(machine: Machine) -> None:
    """No package manager is asked."""
    machine.add_program("apt-get", "exit 0")
    os.system(machine.add_jdk())
    assert machine.provide() == f"Java is in {machine.jvm}/jdk"
    assert machine.calls == []


def test_the_package_manager_installs_one(machine: Machine) -> None:
    """The one that this machine has: lists are brought up to date first, then 17, then 21."""
    machine.add_program(
        "apt-get",
        'case "$*" in *17*) exit 100;; install*21*) ' + machine.add_jdk("21.0.2") + ";; esac",
    )
    assert machine.provide() == f"Java was installed in {machine.jvm}/jdk"
    assert machine.calls == ["apt-get", "apt-get", "apt-get"]


def test_the_next_manager_is_tried(machine: Machine) -> None:
    """One that fails does not end it."""
    machine.add_program("apt-get", "exit 100")
    machine.add_program("brew", machine.add_jdk())
    assert machine.provide().startswith("Java was installed")
    assert machine.calls == ["apt-get", "brew"]


def test_no_password_is_asked_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root's rights sudo is used only if it answers at once."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    machine.add_program("dnf", "exit 0")
    machine.add_program("sudo", '[ "$1" = --non-interactive ] && exit 1')
    with pytest.raises(JavaMissing, match="install Java 17 or newer: apt install openjdk-17"):
        machine.provide()
    assert set(machine.calls) == {"sudo"}


def test_without_any_manager_one_line_says_what_to_do(machine: Machine) -> None:
    """The remedy names the packages."""
    with pytest.raises(JavaMissing, match="there is no Java on this machine; install") as failure:
        machine.provide()
    assert "\n" not in str(failure.value)


def test_a_wrong_java_home_is_not_papered_over(machine: Machine) -> None:
    """Spark would use it whatever is installed elsewhere."""
    machine.add_program("apt-get", machine.add_jdk())
    machine.environment["JAVA_HOME"] = str(machine.jvm / "nowhere")
    with pytest.raises(JavaMissing, match="JAVA_HOME is"):
        machine.provide()
    assert machine.calls == []
