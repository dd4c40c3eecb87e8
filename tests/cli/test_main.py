"""The command as a whole: exit codes, one-line errors, help."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from headrace import __version__
from headrace.cli import main
from headrace.cli.app import app
from headrace.cli.failures import Failure
from headrace.cli.options import SERVER_FLAGS
from tests.cli.conftest import Headrace
from tests.client.listeners import unused_port


def commands() -> Iterator[list[str]]:
    root: Any = typer.main.get_command(app)
    for name, command in root.commands.items():
        if hasattr(command, "commands"):
            yield from ([name, each] for each in command.commands)
        else:
            yield [name]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_has_help_with_an_example(headrace: Headrace, words: list[str]) -> None:
    """--help ends with something to type."""
    outcome = headrace(*words, "--help")
    assert outcome.code == 0
    assert "Example" in outcome.out
    assert f"headrace {' '.join(words)}" in outcome.out.split("Example")[1]


WITHOUT_AN_ANSWER = (
    *(["up"], ["completion"], ["zookeeper"], ["connect", "run"]),
    *(["lake", "camus"], ["lake", "gobblin"]),
)


@pytest.mark.parametrize(
    "words", [words for words in commands() if words not in WITHOUT_AN_ANSWER], ids=" ".join
)
def test_every_command_speaks_json_and_yaml(headrace: Headrace, words: list[str]) -> None:
    """--output is one of table, json, yaml wherever there is an answer."""
    assert "--output <table|json|yaml>" in headrace(*words, "--help").out


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_spells_the_brokers_alike(words: list[str]) -> None:
    """-b, --bootstrap-server and --bootstrap-servers wherever brokers can be named."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    spelt = [set(each.opts) for each in command.params if set(each.opts) & set(SERVER_FLAGS)]
    assert spelt in ([], [set(SERVER_FLAGS)])


@pytest.mark.parametrize("words", [[], ["topic"], ["config"], ["cluster"]])
def test_a_noun_alone_shows_its_help(headrace: Headrace, words: list[str]) -> None:
    """Whoever looks around is shown around."""
    outcome = headrace(*words)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Commands:" in outcome.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["topc"], "Did you mean 'topic', 'top'?; see headrace --help"),
        (["topic", "creat"], "Did you mean 'create'?; see headrace topic --help"),
        (["topic", "create"], "see headrace topic create --help"),
        (["topic", "list", "--outptu", "json"], "--output"),
        (["topic", "list", "--output", "xml"], "see headrace topic list --help"),
        (["topic", "create", "a", "--partitions", "0"], "--partitions"),
        (["topic", "list", "-b", "a:b"], '"a:b" is not an address'),
        (["topic", "alter", "a"], "nothing to alter"),
        (["consume"], "no topic is named"),
        (["consume", "a", "-t", "b"], "two topics are named"),
        (["produce"], "no topic is named"),
        (["consume", "a", "--from", "yesterday"], '"yesterday" is not a position'),
        (["consume", "-t", "a", "--format", "%z"], '"%z" is not known'),
        (["consume", "-t", "a", "--follow", "--to", "5"], "exclude each other"),
        (["produce", "-t", "a", "--acks", "1", "--idempotent"], "needs --acks all"),
        (["produce", "-t", "a", "-k", "a", "-K", ":"], "exclude each other"),
        (["produce", "-t", "a", "-K", ""], "--key-separator is empty"),
        (["produce", "-t", "a", "-H", "x"], '--header "x" has no value'),
        (["config", "describe", "broker", "one"], '"one" is not a broker id'),
        (["config", "set", "topic", "a", "x"], '"x" has no value'),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    headrace: Headrace, words: list[str], complaint: str
) -> None:
    """No broker is asked, no stack trace is shown."""
    outcome = headrace(*words)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""


def test_a_failure_is_one_line_and_exit_code_1(headrace: Headrace) -> None:
    """A refused connection names the address and the remedy."""
    port = unused_port()
    outcome = headrace("topic", "list", "-b", f"127.0.0.1:{port}")
    assert outcome.code == 1
    assert outcome.err == (
        f"headrace: 127.0.0.1:{port} refused the connection; "
        'start a broker with "headrace up", or name another address with -b\n'
    )


def test_debug_shows_where_a_failure_happened() -> None:
    """--debug may stand anywhere; the exception reaches the interpreter."""
    with pytest.raises(Failure):
        main(["topic", "--debug", "list", "-b", f"127.0.0.1:{unused_port()}"])


def test_the_version_can_be_asked(headrace: Headrace) -> None:
    """--version and nothing else."""
    assert headrace("--version") == (0, f"headrace {__version__}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_calls_the_command_back(headrace: Headrace, shell: str) -> None:
    """The script asks headrace itself, so it never grows old."""
    outcome = headrace("completion", shell)
    assert outcome.code == 0
    assert f"_HEADRACE_COMPLETE=complete_{shell}" in outcome.out


def complete(*words: str, **environment: str) -> list[str]:
    """What bash would be told for these words."""
    asked = {
        "_HEADRACE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["headrace", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "headrace"],
        env={**os.environ, **asked, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


def test_nouns_and_options_are_completed() -> None:
    """Also those of `up`, which has a parser of its own."""
    assert complete("top") == ["top", "topic"]
    assert complete("up", "--da") == ["--data"]


def test_topics_are_completed_from_the_cluster(live: Headrace, topic: str) -> None:
    """The broker is asked; when none answers there is nothing to offer."""
    found = complete("topic", "describe", topic[:-1])
    assert topic in found
    nobody = f"127.0.0.1:{unused_port()}"
    assert complete("topic", "describe", "x", HEADRACE_BOOTSTRAP_SERVERS=nobody) == []
