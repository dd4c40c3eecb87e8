"""Compiling a file although imports are missing or options are unknown.

Confluent's registry skips an import that it does not have, keeps an option that it does not know,
and rejects a schema only if the type of a field is not found. Here an empty file takes the place of
a missing import, and unknown options are set aside while protoc looks at the rest. A schema without
either costs one run of protoc. protoc names one option of a declaration at a time, so with the
first complaint about a file all of its options go that nothing can define, because no file has an
extension of such a name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2

from headrace.schemas.model import InvalidSchema
from headrace.schemas.protobuf import protoc
from headrace.schemas.protobuf.unknown_options import Taken, extension_names, put_back, take_out

MAX_RUNS: Final = 50
"""Each run but the last finds at least one import or option more, and mostly all of a file."""
_EMPTY: Final = 'syntax = "proto3";\n'


def compile_tolerantly(name: str, folder: Path, check_name: Callable[[str], None]) -> list[Any]:
    """The descriptors of a file in `folder` and, before it, of all that it imports."""
    originals: dict[str, str] = {}
    unknown: dict[str, set[str]] = {}
    taken: dict[str, list[Taken]] = {}
    defined: frozenset[str] | None = None
    first: protoc.Complaint | None = None
    for _ in range(MAX_RUNS):
        try:
            descriptor_set = protoc.compile_file(name, folder, with_places=bool(taken))
        except protoc.Complaint as complaint:
            if complaint.absent and first is None:
                first = complaint
            is_mended = _add_files(complaint.absent, folder, check_name)
            for file, names in complaint.unknown_options.items():
                known = unknown.setdefault(file, set())
                if _is_source(file, folder, check_name) and not names <= known:
                    known |= names
                    defined = _defined(folder) if defined is None else defined
                    source = originals.setdefault(file, _read(folder / file))
                    blanked, taken[file] = take_out(source, partial(_is_unknown, known, defined))
                    (folder / file).write_text(blanked, "utf-8", newline="")
                    is_mended = True
            if not is_mended:
                raise _explained(complaint, first) from None
            continue
        files = list(descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file)
        for file in files:
            if file.name in taken:
                put_back(file, originals[file.name], taken[file.name])
            file.ClearField("source_code_info")
        return files
    raise InvalidSchema(
        f"the schema has more unknown imports or options than are looked at ({MAX_RUNS} rounds); "
        "give the files that define them as references"
    )


def _is_unknown(known: Collection[str], defined: Collection[str], name: str) -> bool:
    """Whether protoc has complained about an option, or would."""
    if name in known:
        return True
    return name.startswith("(") and name[1:-1].rpartition(".")[2] not in defined


def _defined(folder: Path) -> frozenset[str]:
    """What extensions are called in all files that a schema may import."""
    # The name of no import begins with a dot; that of what protoc writes does.
    paths = (path for path in folder.rglob("[!.]*") if path.is_file())
    return _built_in().union(*(extension_names(_read(path)) for path in paths))


@cache
def _built_in() -> frozenset[str]:
    paths = (path for folder in protoc.BUILT_IN for path in folder.rglob("*.proto"))
    return frozenset[str]().union(*(extension_names(_read(path)) for path in paths))


def _add_files(absent: set[str], folder: Path, check_name: Callable[[str], None]) -> bool:
    """Put an empty file in the place of each that is missing, if its name may be one of a file."""
    for name in absent:
        try:
            check_name(name)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(_EMPTY)
        except (InvalidSchema, OSError):
            return False
    return bool(absent)


def _is_source(name: str, folder: Path, check_name: Callable[[str], None]) -> bool:
    """Whether it is a file of ours: protoc's text may repeat whatever a schema holds."""
    try:
        check_name(name)
    except InvalidSchema:
        return False
    return (folder / name).is_file()


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def _explained(complaint: protoc.Complaint, first: protoc.Complaint | None) -> InvalidSchema:
    """What is wrong, behind the imports that were missing: they are the likely cause."""
    if first is None or first is complaint:
        return complaint
    return InvalidSchema(f"{first}; {complaint}")
