"""librdkafka's test-runner, built once in the cache, and what its sources say about its tests.

The npm package of Confluent's JavaScript client carries librdkafka with its tests. Headers that
the system lacks are unpacked from Debian packages beside it, without root.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.kafka.toolchain import cache_dir, fetched
from tests.suites.running import must, need, say

PACKAGE = "@confluentinc/kafka-javascript@1.10.1"
VERSION = "2.15.1"
_INSIDE = "package/deps/librdkafka/"
_HEADERS = {"zstd.h": "libzstd-dev", "rapidjson/schema.h": "rapidjson-dev"}


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry of the runner's own table of tests."""

    name: str  # "0001_multiobj"
    flags: str
    scenarios: tuple[str, ...]

    @property
    def number(self) -> str:
        return self.name[:4]


def prepare() -> Path:
    """Fetch and build on first use; the folder of test-runner."""

    def fill(source: Path) -> None:
        need("npm", "gcc", "g++", "make")
        log = cache_dir() / "librdkafka-build.log"
        log.write_bytes(b"")
        say(f"building librdkafka {VERSION} and its tests takes minutes; log: {log}")
        must(["npm", "pack", "--silent", "--pack-destination", source, PACKAGE], log, cwd=source)
        archive = next(source.glob("*.tgz"))
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name.startswith(_INSIDE):
                    member.name = member.name.removeprefix(_INSIDE)
                    tar.extract(member, source, filter="data")
        archive.unlink()
        options = _header_options(source / "headers", log)
        must(["./configure", "--disable-gssapi", "--disable-curl", *options], log, cwd=source)
        jobs = f"-j{os.cpu_count() or 2}"
        must(["make", jobs, "libs"], log, cwd=source)
        must(["make", jobs, "-C", "tests", "build"], log, cwd=source)

    return fetched(f"librdkafka-{VERSION}", fill) / "tests"


def _header_options(root: Path, log: Path) -> list[str]:
    """Options of configure for zstd and rapidjson, unpacked below `root` where they are missing."""
    wanted = [package for header, package in _HEADERS.items() if not _compiles(header)]
    if not wanted:
        return []
    if shutil.which("apt-get") is None:
        say("no zstd or rapidjson headers: 0017 leaves zstd out; 0053, 0098, 0101 skip themselves")
        return []
    root.mkdir()
    for package in wanted:
        must(["apt-get", "download", package], log, cwd=root)
        must(["dpkg-deb", "-x", next(root.glob(f"{package}_*.deb")), root], log)
    folders = [file.parent.parent for file in root.glob("usr/lib/*/pkgconfig/libzstd.pc")]
    for folder in folders:
        _link_system_zstd(folder)
    include = f"-isystem {root}/usr/include"
    linking = [f"--LDFLAGS=-L{folder}" for folder in folders[:1]]
    return [f"--CFLAGS={include}", f"--CXXFLAGS={include} -Wno-deprecated-declarations", *linking]


def _compiles(header: str) -> bool:
    source = f"#include <{header}>\n".encode()
    done = subprocess.run(["g++", "-E", "-x", "c++", "-"], input=source, capture_output=True)
    return done.returncode == 0


def _link_system_zstd(folder: Path) -> None:
    """The package's link points at a library beside it; the library is the system's."""
    listing = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    library = re.search(r"libzstd\.so\.1 .*=> (\S+)", listing)
    for name in ("libzstd.a", "libzstd.so"):
        (folder / name).unlink(missing_ok=True)
    if library:
        (folder / "libzstd.so").symlink_to(library[1])


def declared(tests: Path) -> list[Declared]:
    """Every test that the runner knows, in its order."""
    text = (tests / "test.c").read_text()
    text = text[text.index("struct test tests[] = {") :]
    text = re.sub(r"/\*.*?\*/", "", text[: text.index("\n};")], flags=re.DOTALL)
    found = []
    for entry in re.finditer(r"_TEST\((\d{4}_\w+),\s*([^,()]+)((?:[^()]|\([^()]*\))*)\)", text):
        scenario = re.search(r'\.scenario = "([^"]+)"', entry[3])
        scenarios = tuple(scenario[1].split(",")) if scenario else ("default",)
        found.append(Declared(entry[1], entry[2].strip(), scenarios))
    return found


def quick_mode_hollows_out(tests: Path, number: str) -> bool:
    """Whether -Q would drop subtests: it drops all not marked quick, and the test still passes."""
    text = "".join(file.read_text(errors="replace") for file in tests.glob(f"{number}-*.c*"))
    return bool(re.search(r"\bSUB_TEST\(|skipped due to quick mode", text))
