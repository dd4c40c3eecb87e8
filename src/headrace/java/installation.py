"""Finds the Java that Spark and ZooKeeper will run on, before either fails without a helpful word.

Looks where Spark's own start script looks, `JAVA_HOME` and then the `PATH`, and after them where
packages leave a JDK that nobody has put on the `PATH`. It reads the file `release` that every JDK
carries, because starting a JVM only to ask for its version costs more than the answer.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from headrace.errors import HeadraceError

MIN_VERSION: Final = 17
REMEDY: Final = (
    "install Java 17 or newer: apt install openjdk-17-jre-headless, "
    "dnf install java-17-openjdk-headless or brew install openjdk@17; "
    "if it is installed, set JAVA_HOME"
)
KNOWN_PLACES: Final = (
    "/usr/lib/jvm/*",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
_ASK_TIMEOUT_S: Final = 20
_RELEASE: Final = re.compile(r'^JAVA_VERSION="(?P<version>[^"]+)"', re.MULTILINE)
_ANSWER: Final = re.compile(r'version "(?P<version>[^"]+)"')


class JavaMissing(HeadraceError):
    """There is no Java that can be used; the text says what to install."""


def find_java(environment: Mapping[str, str], places: Sequence[str] = KNOWN_PLACES) -> Path:
    """The home of a Java of at least version 17."""
    if chosen := environment.get("JAVA_HOME"):
        # Spark obeys JAVA_HOME whatever it holds, so a wrong one is an error, not a hint.
        home = Path(chosen)
        if not (home / "bin" / "java").is_file():
            raise JavaMissing(f"JAVA_HOME is {chosen}, where there is no bin/java; {REMEDY}")
        if (version := version_of(home)) < MIN_VERSION:
            raise JavaMissing(
                f"JAVA_HOME is {chosen}, which is Java {version}, "
                f"and version 17 is needed; {REMEDY}"
            )
        return home
    too_old = 0
    for home in _candidates(environment, places):
        version = version_of(home)
        if version >= MIN_VERSION:
            return home
        too_old = max(too_old, version)
    found = f"only Java {too_old}, and version 17 is needed" if too_old else "no Java"
    raise JavaMissing(f"there is {found} on this machine; {REMEDY}")


def _candidates(environment: Mapping[str, str], places: Sequence[str]) -> Iterator[Path]:
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path is not None:
        # Debian's /usr/bin/java is a link into the JDK; its home is two levels up from the target.
        yield Path(on_path).resolve().parent.parent
    for place in places:
        anchor = Path(place).anchor
        for home in sorted(Path(anchor).glob(place[len(anchor) :])):
            if (home / "bin" / "java").is_file():
                yield home


def version_of(home: Path) -> int:
    """The feature release of the Java in this folder: 8, 11, 17 …; 0 if it cannot be told."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = _RELEASE.search(text) or _ANSWER.search(_ask(home))
    return feature_release(match["version"]) if match else 0


def feature_release(version: str) -> int:
    """`"1.8.0_392"` is 8, `"17.0.15"` is 17."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) == 2 else numbers[0]


def _ask(home: Path) -> str:
    try:
        done = subprocess.run(
            [home / "bin" / "java", "-version"],
            capture_output=True,
            text=True,
            timeout=_ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stderr + done.stdout
