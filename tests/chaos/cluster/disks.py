"""A small disk per broker that can be filled: a tmpfs with a ballast file.

Where mounting is not permitted brokers keep their data in plain folders, and `can_be_filled` says
that this fault cannot be had.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SIZE_MB = 512
BALLAST = "ballast"
COMMAND_TIMEOUT_SECONDS = 10
_CHUNK = 1 << 20


class Disk:
    """The folder of one broker."""

    def __init__(self, folder: Path, size_mb: int = SIZE_MB) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
        try:
            done = subprocess.run(mount, capture_output=True, timeout=COMMAND_TIMEOUT_SECONDS)
            self.can_be_filled = done.returncode == 0
        except FileNotFoundError:
            self.can_be_filled = False

    def fill(self) -> None:
        """Leave not one free page."""
        with (self.folder / BALLAST).open("wb", buffering=0) as ballast:
            block = bytes(_CHUNK)
            try:
                while ballast.write(block) == _CHUNK:
                    pass
            except OSError:
                pass  # full: that was the aim

    def empty(self) -> None:
        (self.folder / BALLAST).unlink(missing_ok=True)

    def close(self) -> None:
        if self.can_be_filled:
            # Lazily: a process of the run may need a moment to let go of its files.
            subprocess.run(
                ["umount", "-l", str(self.folder)],
                capture_output=True,
                timeout=COMMAND_TIMEOUT_SECONDS,
            )
            self.can_be_filled = False
        if os.path.isdir(self.folder) and not os.listdir(self.folder):
            self.folder.rmdir()
