"""What the words of a service's command give, and how wrong ones are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.http.arguments import read_arguments


def read(*words: str) -> dict[str, str]:
    return read_arguments("serve", "serve.properties", words)


def test_a_file_and_what_is_set_over_it(tmp_path: Path) -> None:
    """`--set` wins, wherever it stands; both spellings of a flag are taken."""
    file = tmp_path / "serve.properties"
    file.write_text("# a comment\nkafkastore.topic = a\ndebug: true\n")
    given = read(str(file), "--set", "kafkastore.topic=b", "--set=x=1=2")
    assert given == {"kafkastore.topic": "b", "debug": "true", "x": "1=2"}
    assert read("--set", "debug=false", str(file))["debug"] == "false"
    assert read() == {}


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A value that is missing, a file that is not there or far too large."""
    for words in (["--set", "x"], ["--set", "=1"]):
        with pytest.raises(ConfigError, match="has no value"):
            read(*words)
    with pytest.raises(ConfigError, match="missing cannot be read"):
        read(str(tmp_path / "missing"))
    large = tmp_path / "large"
    large.write_text("x" * (2 << 20))
    with pytest.raises(ConfigError, match="is larger than"):
        read(str(large))


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--help"], 0, "serve.properties"),
        (["--nonsense"], 2, "--nonsense"),
        (["a", "b"], 2, "b"),
        (["--set"], 2, "--set"),
    ],
)
def test_help_and_wrong_usage(
    words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 with an example, exit 2 with the word that is wrong."""
    with pytest.raises(SystemExit) as ended:
        read(*words)
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert told in (printed.err if code else printed.out)
