"""Programs of Debian's packages, unpacked into the cache and never installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.kafka.toolchain import fetched, need, run


def unpacked(name: str, packages: Sequence[str]) -> Path:
    """The folder of the cache into which the packages are unpacked."""

    def fill(folder: Path) -> None:
        apt_get, dpkg = need("apt-get"), need("dpkg")
        download = [apt_get, "download", *packages]
        try:
            run(download, cwd=folder)
        except AssertionError:  # a new machine has no list of packages yet
            run([apt_get, "update"])
            run(download, cwd=folder)
        for package in sorted(folder.glob("*.deb")):
            run([dpkg, "-x", package, folder])
            package.unlink()

    return fetched(name, fill)


def libraries(folder: Path) -> dict[str, str]:
    """The environment in which unpacked programs find the libraries beside them."""
    places = sorted({str(path.parent) for path in folder.rglob("*.so*")})
    return {"LD_LIBRARY_PATH": os.pathsep.join(places)}


def for_everybody(folder: Path, copy: Path) -> Path:
    """The folder, or a copy if its place is closed to a user without rights."""
    if all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents)):
        return folder
    shutil.copytree(folder, copy, symlinks=True)
    return copy
