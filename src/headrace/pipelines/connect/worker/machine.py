"""Files, folders and variables of this machine, as config providers read them."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.pipelines.connect.config.providers import Machine


def this_machine() -> Machine:
    """What there is here."""
    return Machine(lambda path: Path(path).read_text(), _files_in, os.environ)


def _files_in(path: str) -> list[str]:
    return sorted(each.name for each in Path(path).iterdir() if each.is_file())
