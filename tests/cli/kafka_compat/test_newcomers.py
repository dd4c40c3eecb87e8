"""What somebody sees who types a tool's name for the first time: its help, and a wrong flag."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from headrace.cli.app import app
from headrace.cli.kafka_compat import TOOLS, flag_words, flags, main
from headrace.cli.kafka_compat.cluster import run as kafka_cluster
from headrace.cli.kafka_compat.features import run as kafka_features
from headrace.cli.kafka_compat.storage import run as kafka_storage
from headrace.cli.kafka_compat.transactions import run as kafka_transactions
from tests.cli.conftest import Headrace, Outcome
from tests.cli.kafka_compat.conftest import Tool

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
WRONG = "--no-such-flag"


@pytest.fixture
def script(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """`script("kafka-topics", "--help")`: what is installed under that name."""

    def run(name: str, *words: str) -> Outcome:
        monkeypatch.setattr("sys.argv", [name, *words])
        try:
            code = main()
        except SystemExit as ended:  # argparse answers by itself
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


def test_every_tool_is_installed_with_and_without_its_suffix() -> None:
    """All under one function, which goes by the name of the script."""
    named = {f"{tool}{suffix}" for tool in TOOLS for suffix in ("", ".sh")}
    assert (
        dict.fromkeys(named, "headrace.cli.kafka_compat:main") | {"headrace": "headrace.cli:main"}
        == SCRIPTS
    )


def test_a_tool_goes_by_the_name_of_its_script(script: Callable[..., Outcome]) -> None:
    """Wherever it lies; a name that is none of them is told."""
    assert script("/usr/bin/kafka-topics.sh", "--help").out.startswith("Usage: kafka-topics ")
    complaint = "headrace: kafka-tropics is not a name of Kafka's tools\n"
    assert script("kafka-tropics") == (2, "", complaint)


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_how_it_is_used(name: str, script: Callable[..., Outcome]) -> None:
    """--help goes to standard output and is no failure; every flag has a few words beside it."""
    code, out, err = script(name, "--help")
    assert (code, err) == (0, "")
    assert out.lower().startswith("usage: ")
    listed = [line for line in out.splitlines() if line.startswith("  --")]
    assert [line for line in listed if len(line.split("  ")) < 3] == []


@pytest.mark.parametrize("name", TOOLS)
def test_a_wrong_flag_is_named(name: str, script: Callable[..., Outcome]) -> None:
    """It is called by its name, before anything else is looked at, and help is near."""
    code, out, err = script(name, WRONG)
    assert code == (2 if name.startswith(("zookeeper", "schema-", "kafka-rest")) else 1)
    assert out == ""
    assert WRONG in err
    assert "--help" in err or "usage: " in err.lower()
    assert "Traceback" not in err


def test_every_command_of_ours_has_an_example() -> None:
    """And a sentence that says what it does."""
    found = dict(commands(get_command(app)))
    assert len(found) > 50
    assert [path for path, command in found.items() if not command.help] == []
    assert [path for path, command in found.items() if "Example" not in command.epilog] == []


@pytest.mark.parametrize(
    "path", ["up", "topic create", "group reset", "schema get", "bench latency"]
)
def test_a_command_of_ours_names_a_wrong_flag(path: str, headrace: Headrace) -> None:
    """In one line that leads to the help of this command."""
    complaint = f"headrace: No such option: {WRONG}; see headrace {path} --help\n"
    assert headrace(*path.split(), WRONG) == (2, "", complaint)
    code, out, err = headrace(*path.split(), "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: headrace {path}")


@pytest.mark.parametrize(
    "run",
    [kafka_cluster, kafka_features, kafka_storage, kafka_transactions],
    ids=["cluster", "features", "storage", "transactions"],
)
def test_a_wrong_flag_is_not_taken_for_a_missing_command(
    run: Callable[[list[str]], int], tool: Tool
) -> None:
    """Nor is what follows it taken for the command; what is near is proposed."""
    for words in ([WRONG], [WRONG, "x"], [WRONG, "describe"], [f"{WRONG}=x"]):
        found = tool(run, *words)
        assert (found.code, found.out) == (1, "")
        assert f'"{WRONG}" is not a flag of this command; see --help' in found.err


def test_a_beginning_of_a_flag_takes_its_value_with_it(tool: Tool) -> None:
    """`--release 4.0` is one flag, and `version-mapping` the command."""
    found = tool(kafka_features, "--release", "4.0", "version-mapping")
    assert (found.code, found.err) == (0, "")
    assert "metadata.version" in found.out
    near = tool(kafka_storage, "--confg", "server.properties", "info")
    assert near.err.endswith('"--confg" is not a flag of this command; did you mean "--config"?\n')


def test_a_flag_without_words_still_has_its_place() -> None:
    """The tool's own meaning of a flag goes before the common one."""
    assert flag_words.words_of("kafka-storage info|format", "--config") == (
        "FILE",
        "the broker's server.properties",
    )
    assert flag_words.words_of("kafka-topics", "--unheard-of") is None
    known = {"--unheard-of": flags.Takes.VALUE, "--state": flags.Takes.MAYBE}
    text = flags.usage("kafka-tool", known, "kafka-tool --state")
    assert "  --unheard-of <a value>\n" in text
    assert "  --state [STATE,…]       show the state" in text
