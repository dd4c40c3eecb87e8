"""Where files lie and how they are called.

<topics.dir>/<topic>/<folder>/<topic>+<partition>+<first>+<last>.<extension>
<topics.dir>/+tmp/<topic>/<partition>/<unique>            being written
<logs.dir>/<topic>/<partition>/<first offset>.json        the journal
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Final

STAGING: Final = "+tmp"
_ESCAPED: Final = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
_HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of a lake. `digits` is how wide offsets are at least."""

    topics_dir: str = "topics"
    logs_dir: str = "logs"
    digits: int = 10
    delimiter: str = "+"

    def topic_folder(self, topic: str) -> str:
        """Where a topic's files lie."""
        return _joined(self.topics_dir, topic)

    def published(
        self, topic: str, partition: int, folder: str, first: int, last: int, extension: str
    ) -> str:
        """The path of a finished file."""
        offsets = (f"{offset:0{self.digits}d}" for offset in (first, last))
        name = self.delimiter.join((topic, str(partition), *offsets))
        return _joined(self.topics_dir, topic, folder, name + extension)

    def range_of(self, topic: str, path: str) -> tuple[int, int, int] | None:
        """The partition, first and last offset in a file's name; None if it is no file of ours."""
        between = re.escape(self.delimiter)
        named = rf"{re.escape(topic)}{between}(\d+){between}(\d+){between}(\d+)(?:\.[^/]*)?"
        found = re.fullmatch(named, path.rpartition("/")[2])
        return None if found is None else (int(found[1]), int(found[2]), int(found[3]))

    def staging_folder(self, topic: str, partition: int) -> str:
        """Where files of a partition are while they are written."""
        return _joined(self.topics_dir, STAGING, topic, str(partition))

    def staged(self, topic: str, partition: int) -> str:
        """The path of a new file that is being written."""
        return f"{self.staging_folder(topic, partition)}/{uuid.uuid4().hex}"

    def journal_folder(self, topic: str, partition: int) -> str:
        """Where it is kept what a partition has published."""
        return _joined(self.logs_dir, topic, str(partition))


def folder_name(field: str, value: str | None) -> str:
    """`field=value`, as Hive and Spark name and read the folder of a partition."""
    return f"{field}={_HIVE_NULL if value is None else escaped(value) or _HIVE_NULL}"


def escaped(text: str) -> str:
    """A text as part of a folder's name: what would end it or leave it becomes %XX, as in Hive."""
    made = _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
    return made.replace(".", "%2E") if made in (".", "..") else made


def _joined(*parts: str) -> str:
    return "/".join(part.strip("/") for part in parts if part.strip("/"))
