"""Compiled code can be read: by command, in tracebacks, in a debugger."""

from __future__ import annotations

import linecache
import traceback

import pytest

from headrace.wire import MalformedMessage, decode, encode_bytes
from headrace.wire.__main__ import main
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.registry import all_apis
from tests.wire.samples import SmallResponse


def test_list_shows_every_api(capsys: pytest.CaptureFixture[str]) -> None:
    """`list` prints a line per API with key, name and versions."""
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[:3] for line in lines] == [
        [str(api.key), api.name, f"{api.min_version}-{api.max_version}"] for api in all_apis()
    ]


def test_show_prints_both_functions(capsys: pytest.CaptureFixture[str]) -> None:
    """`show` prints the source that really runs."""
    assert main(["show", "FetchRequest", "12"]) == 0
    shown = capsys.readouterr().out
    encode_bytes(FetchRequest(max_wait_ms=1, min_bytes=1, topics=[]), 12)
    source = "".join(linecache.getlines("<headrace encode FetchRequest v12>"))
    assert source.startswith("def encode(msg):")
    assert source in shown
    assert "def decode(buf, pos, view):" in shown
    compile(shown, "shown", "exec")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "usage:"),
        (["show"], "usage:"),
        (["dance"], "usage:"),
        (["show", "FetchRequest", "99"], "versions 4 to 18"),
        (["show", "FetchRequest", "x"], "'x' is not a version"),
        (["show", "Fetch", "4"], "no message 'Fetch'"),
    ],
)
def test_wrong_usage(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be understood is explained in one line, with exit code 2."""
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert complaint in output.err
    assert output.out == ""


def test_tracebacks_show_compiled_lines() -> None:
    """A fault inside compiled code is shown with the line that caused it."""
    with pytest.raises(MalformedMessage) as caught:
        decode(SmallResponse, 2, b"\0\0\2\xff\1\0\0")
    assert caught.value.__cause__ is not None
    frames = traceback.extract_tb(caught.value.__cause__.__traceback__)
    assert any(frame.line and "buf[pos:end].decode()" in frame.line for frame in frames)
