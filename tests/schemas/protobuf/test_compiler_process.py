"""The compiler's process under bad input, bad luck and the end of its parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.schemas.model import MAX_SCHEMA_BYTES, InvalidSchema
from headrace.schemas.protobuf import frames, parse
from headrace.schemas.protobuf.compiler import RETIREMENT_KB
from headrace.schemas.protobuf.process import CompilerProcess, CompilerTimedOut

GOOD = b'syntax = "proto3"; message M { string a = 1; }'
# protoc itself aborts on this: an option whose value nests deeper than its own limit.
FATAL = (
    'syntax = "proto3"; import "google/protobuf/descriptor.proto"; message O { O o = 1; } '
    "extend google.protobuf.FileOptions { O deep = 50000; } "
    f"option (deep) = {'{o: ' * 500}{{}}{'}' * 500};"
)


@pytest.fixture
def compiler() -> Iterator[CompilerProcess]:
    process = CompilerProcess()
    assert process.ask([GOOD])[0] == frames.OK
    yield process
    process.close()


def stop(pid: int) -> None:
    """Stop a child; it has stopped when this returns, which the signal alone does not promise."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)


def wait_for_request(pid: int) -> None:
    """Until a request lies in the pipe of a child that is stopped."""
    with open(f"/proc/{pid}/fd/0", "rb", buffering=0) as pipe:
        assert select.select([pipe], [], [], 30)[0]


def ended(pid: int) -> bool:
    """Wait until a process that may be anyone's child is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 30)[0])
    finally:
        os.close(descriptor)


def test_request_survives_the_death_of_the_compiler(compiler: CompilerProcess) -> None:
    """A compiler that is killed in the middle of a request is replaced; the request is answered."""
    first = compiler.pid
    assert first is not None
    stop(first)
    answers: list[list[bytes]] = []
    asking = threading.Thread(target=lambda: answers.append(compiler.ask([GOOD])))
    asking.start()
    wait_for_request(first)
    os.kill(first, signal.SIGKILL)
    asking.join(30)
    assert answers[0][0] == frames.OK
    assert compiler.pid != first


def test_compiler_that_was_killed_while_idle_is_replaced(compiler: CompilerProcess) -> None:
    """A dead compiler is noticed before a request is sent to it."""
    first = compiler.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert ended(first)
    assert compiler.ask([GOOD])[0] == frames.OK


def test_compiler_that_takes_too_long_is_ended(compiler: CompilerProcess) -> None:
    """A request has a time limit; afterwards a new compiler answers the next one."""
    first = compiler.pid
    assert first is not None
    stop(first)
    compiler.timeout_s = 0.1
    with pytest.raises(CompilerTimedOut, match=r"more than 0\.1 seconds"):
        compiler.ask([GOOD])
    assert ended(first)
    compiler.timeout_s = 30
    assert compiler.ask([GOOD])[0] == frames.OK


def test_many_threads_share_one_compiler(compiler: CompilerProcess) -> None:
    """Answers go to the thread that asked, whatever the others do."""
    texts: dict[int, str] = {}

    def ask(number: int) -> None:
        source = f'syntax = "proto3"; message M{number} {{}}'.encode()
        texts[number] = compiler.ask([source])[2].decode()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert all(f"message M{number} {{}}" in text for number, text in texts.items())
    assert len(texts) == 20


def test_schema_that_kills_the_compiler_is_refused() -> None:
    """What makes protoc itself abort is an invalid schema, and the next one compiles."""
    with pytest.raises(InvalidSchema, match="the compiler broke down"):
        parse(FATAL)
    assert parse(GOOD.decode()).name == "M"


def test_source_that_would_take_for_ever_is_refused_in_time(compiler: CompilerProcess) -> None:
    """protoc compares reserved numbers each with each; ten thousand equal ones must not hold us."""
    compiler.timeout_s = 0.5
    with pytest.raises(CompilerTimedOut):
        compiler.ask([b"message M { reserved 1" + b", 1" * 20_000 + b"; }"])
    compiler.timeout_s = 30
    assert compiler.ask([GOOD])[0] == frames.OK


def test_ten_megabytes_of_source_get_an_answer() -> None:
    """A source at the limit of length is compiled or refused, and one beyond it is refused."""
    comment = "/" * (MAX_SCHEMA_BYTES - len(GOOD) - 1)
    assert parse(f"{GOOD.decode()}\n{comment}").name == "M"
    with pytest.raises(InvalidSchema, match=r"line 2, column 1: "):
        parse(f"{GOOD.decode()}\n{comment.replace('/', 'x')}")
    with pytest.raises(InvalidSchema, match="at most 10485760 bytes"):
        parse(f"{GOOD.decode()}\n{comment}/")


def test_compiler_that_grew_large_makes_room(compiler: CompilerProcess) -> None:
    """A process that a large schema has made large ends after its answer, and another follows."""
    first = compiler.pid
    assert first is not None
    text = b"message M {" + b" " * (RETIREMENT_KB * 400) + b"}"
    assert compiler.ask([text])[0] == frames.OK
    assert ended(first)
    assert compiler.ask([GOOD])[0] == frames.OK
    assert compiler.pid != first


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("message M {" * 1_000 + "}" * 1_000, "maximum recursion limit for nested messages"),
        ("option x = " + "{" * 100_000, "Unexpected end of stream"),
        ("\x00\x01\x02", "Invalid control characters"),
        ("message M { string \ud800 = 1; }", "a character that UTF-8 cannot"),
        ("message \N{LATIN SMALL LETTER E WITH ACUTE} {}", "Expected message name"),
        ("   \n", "Invalid|empty|Expected"),
        ('message M {} /* "', "End-of-file inside block comment"),
        ('option java_package = "', "Unexpected end of string"),
        ("message M { int32 a = 99999999999999999999; }", "out of range"),
        ("message M { int32 a = 536870912; }", "Suggested field numbers|cannot be greater"),
    ],
)
def test_broken_source_is_refused_with_its_reason(text: str, reason: str) -> None:
    """Text that is no schema is refused with protoc's reason, and the next request works."""
    with pytest.raises(InvalidSchema, match=reason):
        parse(f"{text}" if text.isspace() else f'syntax = "proto3"; {text}')
    assert parse(GOOD.decode()).name == "M"


PARENT = """
import os, signal, sys
from headrace.schemas.protobuf import parse
from headrace.schemas.protobuf.process import shared
parse('syntax = "proto3"; message M {}')
child = shared._child
print(child.process.pid, child.folder, flush=True)
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", PARENT + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(3)"])
def test_compiler_ends_with_its_parent(end: str) -> None:
    """However the parent ends, the compiler ends too and takes its folder along."""
    outcome = run(end)
    pid, folder = outcome.stdout.split()
    assert ended(int(pid))
    assert not Path(folder).exists()
    assert outcome.stderr == ""


def test_fork_gets_a_compiler_of_its_own() -> None:
    """A forked process does not speak on its parent's pipes."""
    script = """
forked = os.fork()
parse('syntax = "proto3"; message M { string a = 1; }')
if forked == 0:
    print(shared.pid, flush=True)
    shared.close()
    os._exit(0)
_, code = os.waitpid(forked, 0)
assert code == 0
print(shared.pid, flush=True)
"""
    outcome = run(script)
    assert outcome.stderr == ""
    before, _, of_fork, after = outcome.stdout.split()
    assert before == after != of_fork


def test_parent_never_loads_protoc() -> None:
    """Parsing brings neither protoc's bindings nor Protobuf's library into the process."""
    script = """
loaded = [name for name in sys.modules if name.startswith(("grpc", "google.protobuf"))]
assert loaded == [], loaded
"""
    assert run(script).stderr == ""
