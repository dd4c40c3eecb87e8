"""One run of protoc inside this process: files of a folder in, a descriptor set or its errors out.

Only the compiler's process imports this. protoc knows files and file descriptor 2 alone, so the
sources lie in a folder and its complaints are caught there. Two of them are for the caller to mend,
not for the user: an import that is missing, and an option that no file defines.
"""

from __future__ import annotations

import os
import re
import tempfile
from importlib import resources
from pathlib import Path
from typing import Final

from grpc_tools import _protoc_compiler

from headrace.schemas.model import InvalidSchema

BUILT_IN: Final = (
    Path(str(resources.files("headrace.schemas.protobuf"))) / "protos",
    Path(str(resources.files("grpc_tools"))) / "_proto",
)
MAX_ERRORS: Final = 10
_MAX_ERROR_CHARACTERS: Final = 500

_COMPLAINT: Final = re.compile(r"(?P<file>.*?):(?:(?P<line>\d+):(?P<column>\d+):)? (?P<what>.*)")
_LOGGED: Final = re.compile(r"WARNING: All log messages |[IWEF]\d{4} \d\d:\d\d:")
_ABSENT: Final = ": File not found."
_ASK: Final = "a reference with this name must say which subject and version holds it"
_IMPORT: Final = re.compile(r'Import "(?P<name>.*)" was not found or had errors\.')
_OPTION: Final = re.compile(r'Option "(?P<name>.*?)" (?:unknown|is resolved to "[^"]*", which)')


class Complaint(InvalidSchema):
    """protoc rejects a file."""

    def __init__(self, complaints: str, main: str) -> None:
        super().__init__(describe(complaints, main))
        lines = complaints.splitlines()
        self.absent = {each.removesuffix(_ABSENT) for each in lines if each.endswith(_ABSENT)}
        """Files that are imported and not there."""
        self.unknown_options: dict[str, set[str]] = {}
        """By file, the names of options that are not defined."""
        for line in lines:
            match = _COMPLAINT.fullmatch(line)
            if match is not None and (option := _OPTION.match(match["what"])) is not None:
                self.unknown_options.setdefault(match["file"], set()).add(option["name"])


def compile_file(name: str, folder: Path, *, with_places: bool = False) -> bytes:
    """The serialized FileDescriptorSet of a file in `folder`, its imports before it.

    `with_places` has it say where in the source each declaration stands.
    """
    output = folder / ".descriptor-set"
    include = [f"-I{path}" for path in (folder, *BUILT_IN)]
    options = ["--include_imports", "--retain_options", f"--descriptor_set_out={output}"]
    if with_places:
        options.append("--include_source_info")
    code, complaints = _run(["protoc", *include, *options, name])
    if code != 0:
        raise Complaint(complaints.replace(f"{folder}/", ""), name)
    return output.read_bytes()


def _run(arguments: list[str]) -> tuple[int, str]:
    """The exit code of protoc, and what it wrote to its standard error."""
    standard_error = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            code = _protoc_compiler.run_main([each.encode() for each in arguments])
        finally:
            os.dup2(standard_error, 2)
            os.close(standard_error)
        caught.seek(0)
        return code, caught.read(1 << 20).decode("utf-8", "replace")


def describe(complaints: str, main: str) -> str:
    """What protoc complained about, each with its place.

    A file that is missing or wrong makes whatever uses it wrong too, so only the cause is told.
    """
    lines = complaints.splitlines()
    absent = {each.removesuffix(_ABSENT) for each in lines if each.endswith(_ABSENT)}
    missing: dict[str, None] = {}
    elsewhere: dict[str, None] = {}
    here: dict[str, None] = {}
    for line in lines:
        match = _COMPLAINT.fullmatch(line)
        if match is None or _LOGGED.match(line) or match["what"].startswith("warning: "):
            continue
        imported = _IMPORT.fullmatch(match["what"])
        if imported is not None and imported["name"] in absent:
            missing[
                _placed(match, main, f'the import "{imported["name"]}" was not found: {_ASK}')
            ] = None
        elif imported is None and match["file"] not in absent:
            group = here if match["file"] == main else elsewhere
            group[_placed(match, main, match["what"].removesuffix("."))] = None
    found = list(missing or elsewhere or here) or [
        complaints.strip() or "protoc refused the schema"
    ]
    more = f"; and {len(found) - MAX_ERRORS} more" if len(found) > MAX_ERRORS else ""
    return "; ".join(each[:_MAX_ERROR_CHARACTERS] for each in found[:MAX_ERRORS]) + more


def _placed(match: re.Match[str], main: str, what: str) -> str:
    where = [] if match["file"] == main else [match["file"]]
    if match["line"] is not None:
        where.append(f"line {match['line']}, column {match['column']}")
    return f"{', '.join(where)}: {what}" if where else what
