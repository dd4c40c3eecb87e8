"""Which Java Spark will run on, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.java.installation import JavaMissing, feature_release, find_java, version_of


def install(home: Path, version: str | None, *, says: str = "") -> Path:
    """A folder that looks like a Java; without a file `release` it answers when it is run."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    if version is not None:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize(
    ("version", "release"),
    [("1.8.0_392", 8), ("11", 11), ("17.0.15", 17), ("21-ea", 21), ("9", 9), ("", 0), ("x", 0)],
)
def test_versions_old_and_new(version: str, release: int) -> None:
    """Up to 8 the release is the second number, since then the first."""
    assert feature_release(version) == release


def test_java_home_goes_first_and_then_the_path(tmp_path: Path) -> None:
    """As in Spark's own script; a link on the PATH leads to the home behind it."""
    home = install(tmp_path / "jdk-21", "21.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    other = install(tmp_path / "jdk-17", "17.0.15")
    path = str(tmp_path / "bin")
    assert find_java({"PATH": path}, ()) == home
    assert find_java({"PATH": path, "JAVA_HOME": str(other)}, ()) == other


def test_a_java_that_nobody_put_on_the_path_is_found(tmp_path: Path) -> None:
    """Homebrew's OpenJDK is one; older ones beside it are passed over."""
    install(tmp_path / "jvm" / "java-11", "11.0.2")
    newer = install(tmp_path / "jvm" / "java-17", "17.0.15")
    assert find_java({"PATH": str(tmp_path)}, (f"{tmp_path}/jvm/*",)) == newer


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    """And one that answers nothing has no version."""
    asked = install(tmp_path / "a", None, says='openjdk version "17.0.9" 2023-10-17')
    assert version_of(asked) == 17
    assert version_of(install(tmp_path / "b", None, says="no")) == 0
    assert version_of(tmp_path / "none") == 0


def test_no_java_says_what_to_install(tmp_path: Path) -> None:
    """One line: the cause, the packages by system, the variable."""
    with pytest.raises(JavaMissing, match="there is no Java on this machine; install") as caught:
        find_java({"PATH": str(tmp_path)}, ())
    text = str(caught.value)
    assert "\n" not in text
    for word in ("apt install openjdk-17", "dnf install", "brew install", "JAVA_HOME"):
        assert word in text


def test_an_old_or_wrong_java_is_named(tmp_path: Path) -> None:
    """A JAVA_HOME that is set is obeyed, so it must be right."""
    old = install(tmp_path / "old", "1.8.0_392")
    with pytest.raises(JavaMissing, match="which is Java 8, and version 17 is needed"):
        find_java({"JAVA_HOME": str(old)}, ())
    with pytest.raises(JavaMissing, match="where there is no bin/java"):
        find_java({"JAVA_HOME": str(tmp_path)}, ())
    with pytest.raises(JavaMissing, match="there is only Java 8, and version 17 is needed"):
        find_java({"PATH": str(old / "bin")}, ())
