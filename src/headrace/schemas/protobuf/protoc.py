"""One run of protoc inside this process: files of a folder in, a descriptor set or its errors out.

Only the compiler's process imports this. protoc knows files and file descriptor 2 alone, so the
sources lie in a folder and its complaints are caught there.
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


def compile_file(name: str, folder: Path) -> bytes:
    """The serialized FileDescriptorSet of a file in `folder`, its imports before it."""
    output = folder / ".descriptor-set"
    include = [f"-I{path}" for path in (folder, *BUILT_IN)]
    options = ["--include_imports", "--retain_options", f"--descriptor_set_out={output}"]
    code, complaints = _run(["protoc", *include, *options, name])
    if code != 0:
        raise InvalidSchema(describe(complaints.replace(f"{folder}/", ""), name))
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
