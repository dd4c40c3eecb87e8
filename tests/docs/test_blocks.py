"""How pages are read: fences, comments, transcripts, and output that may differ in its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import (
    ROOT,
    RUN,
    BadPage,
    difference,
    missing_lines,
    pages,
    read,
    reads_topics,
    transcript,
)

ALL = pages()


def page_of(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_output_belongs_to_the_command_above_it(tmp_path: Path) -> None:
    """Only right behind it: a text fence after a sentence stands for itself."""
    text = "# t\n\n```sh\necho a\n```\n\n```text\na\n```\n\nElse:\n\n```text\nb\n```\n"
    shell, other = read(page_of(tmp_path, text))
    assert (shell.text, shell.output) == ("echo a\n", "a\n")
    assert (other.language, other.output) == ("text", None)


def test_comments_say_how_a_block_is_run(tmp_path: Path) -> None:
    """A directive is of the next fence; a hidden block has one of its own; a reason is kept."""
    text = (
        "# t\n\n<!-- sh background until up\nserver\n-->\n\n"
        "<!-- run: never, it costs money -->\n```sh\nbuy\n```\n\n```python\n1\n```\n"
    )
    hidden, never, python = read(page_of(tmp_path, text))
    assert (hidden.hidden, hidden.directive, hidden.text) == (
        True,
        "background until up",
        "server\n",
    )
    assert (never.runs, never.reason) == (False, "it costs money")
    assert (python.runs, python.directive) == (True, "")


def test_a_page_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """An open fence, and a comment without one."""
    with pytest.raises(BadPage, match="nothing closes"):
        read(page_of(tmp_path, "# t\n\n```sh\necho\n"))
    with pytest.raises(BadPage, match="a fence must follow"):
        read(page_of(tmp_path, "# t\n\n<!-- run: fails -->\ntext\n"))


def test_a_transcript_has_commands_and_their_output() -> None:
    """Commands go on behind a backslash, a pipe, and inside of quotation marks."""
    text = "$ one \\\n    --two\nout\n$ three |\n  four\n$ echo 'a\nb'\na\nb\n"
    assert transcript(text) == [
        ("one \\\n    --two", "out\n"),
        ("three |\n  four", ""),
        ("echo 'a\nb'", "a\nb\n"),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        ("a  12\n", "x\n a 7 \n", ""),
        ("took 0.02 s (150/s)\n", "took 1.5 s (2/s)\n", ""),
        ("id …: ok\n", "id YN9j: ok\n", ""),
        ("(data in /home/you/data)\n", "(data in /tmp/x/data)\n", ""),
        ("a\n…\nb\n", "a\n1\n2\nb\n", ""),
        ("a\nb\n", "b\na\n", "b"),
        ("orders created\n", "orders failed\n", "orders created"),
        ("12\n", "x\n", "12"),
    ],
)
def test_output_is_compared_but_for_numbers(shown: str, printed: str, missing: str) -> None:
    """Numbers, white space, `…` and the reader's home may differ; words and their order may not."""
    assert difference(shown, printed) == missing


def test_records_of_several_partitions_come_in_any_order() -> None:
    """A reader's output is compared line by line; whatever else prints has an order to keep."""
    assert reads_topics("headrace consume orders --format '%p %k\\n'")
    assert reads_topics("seq 3 | cat\nkafka-console-consumer --topic orders")
    assert not reads_topics("headrace topic list\nheadrace produce orders")
    assert list(missing_lines("1 a\n2 b\n", "0 b\n0 a\n")) == []
    assert list(missing_lines("1 a\n2 b\n", "0 b\n0 c\n")) == ["1 a"]


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_fence_names_its_language(page: Path) -> None:
    """Or it could not be said whether a reader is meant to run it."""
    assert [block.line for block in read(page) if not block.language] == []


def test_few_blocks_are_exempt() -> None:
    """At most one in ten, each with a reason."""
    blocks = [b for page in ALL for b in read(page) if b.language in RUN and not b.hidden]
    exempt = [b for b in blocks if not b.runs]
    assert len(blocks) > 100
    assert len(exempt) <= len(blocks) / 10
    assert all(block.reason for block in exempt)
