"""The fenced blocks of a page, and what a page says about how they are run.

A reader copies what stands between fences, so a test runs the same text. The language of a fence
says how:

- `sh`: run by bash in the page's folder; a `text` fence right behind it is its output.
- `console`: lines that begin with `$ ` are run one by one, the lines below each are its output.
- `python`: run in one interpreter for the whole page; with tests in it, by pytest; with a first
  line such as `# shop.py` it is saved under that name instead.
- any other: shown, not run.

A comment on the line above a fence changes that, and is not seen by a reader of the page:

- `<!-- run: background until TEXT -->`: runs until the page ends; the next block waits for TEXT.
- `<!-- run: until TEXT -->`: stopped with Ctrl-C when it has printed TEXT.
- `<!-- run: fails -->`: must exit with another code than 0.
- `<!-- run: slow -->`: run by `make docs-test` only.
- `<!-- run: sample -->`: output that no command of the page can print again.
- `<!-- run: never, REASON -->`: not run; counted as exempt.

A comment whose first line is `<!-- sh` or `<!-- python` is a block that only the test sees: what a
page takes for granted, such as a platform that is already up.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = frozenset({"sh", "console", "python"})

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[a-z]*)[^\n]*$")
_DIRECTIVE = re.compile(r"^ *<!-- run: (?P<text>.+?) -->$")
_HIDDEN = re.compile(r"^ *<!-- (?P<language>sh|python)(?: (?P<text>.+))?$")


class BadPage(Exception):
    """A page whose blocks cannot be told apart; the message names the line."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fence of a page, or one comment that only the test sees."""

    line: int
    language: str
    text: str
    directive: str = ""
    hidden: bool = False
    output: str | None = None  # what the page shows below it

    @property
    def runs(self) -> bool:
        return self.language in RUN and not self.directive.startswith("never")

    @property
    def reason(self) -> str:
        """Why it is not run."""
        return self.directive.removeprefix("never").lstrip(", ")


def pages() -> list[Path]:
    """The README and every guide."""
    return [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").rglob("*.md"))]


def read(page: Path) -> list[Block]:
    """The blocks of a page in their order, outputs attached to the commands that print them."""
    found: list[Block] = []
    for block, follows in _scan(page):
        shows = block.language == "text" and block.directive != "sample"
        if shows and follows and found and found[-1].language == "sh" and not found[-1].hidden:
            last = found[-1]
            found[-1] = Block(last.line, "sh", last.text, last.directive, output=block.text)
        else:
            found.append(block)
    return found


def _scan(page: Path) -> Iterator[tuple[Block, bool]]:
    """Each block, and whether nothing but blank lines stands between it and the one before."""
    lines = page.read_text().split("\n")
    directive = ""
    follows = False
    at = 0
    while at < len(lines):
        line = lines[at]
        if match := _FENCE.match(line):
            end = _end(page, lines, at, match["indent"] + "```")
            body = [part.removeprefix(match["indent"]) for part in lines[at + 1 : end]]
            yield Block(at + 1, match["language"], "\n".join(body) + "\n", directive), follows
            directive, follows, at = "", True, end
        elif match := _HIDDEN.match(line):
            end = _end(page, lines, at, "-->")
            text = "\n".join(lines[at + 1 : end]) + "\n"
            yield Block(at + 1, match["language"], text, match["text"] or "", hidden=True), False
            at = end
        elif match := _DIRECTIVE.match(line):
            directive = match["text"]
        elif line.strip():
            if directive:
                raise BadPage(f"{page.name}:{at + 1}: a fence must follow the comment above it")
            follows = False
        at += 1


def _end(page: Path, lines: list[str], start: int, mark: str) -> int:
    for at in range(start + 1, len(lines)):
        if lines[at] == mark:
            return at
    raise BadPage(f"{page.name}:{start + 1}: nothing closes this block")


def transcript(text: str) -> list[tuple[str, str]]:
    """The commands of a `console` block with the output shown below each."""
    pairs: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            pairs.append((line.removeprefix("$ "), ""))
        elif not pairs:
            raise BadPage(f"a console block begins with a command, not with {line!r}")
        elif _goes_on(pairs[-1][0]):
            pairs[-1] = (f"{pairs[-1][0]}\n{line}", "")
        else:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}{line}\n")
    return pairs


def _goes_on(command: str) -> bool:
    """Whether a shell would ask for another line."""
    try:
        shlex.split(command.replace("\\\n", " "))
    except ValueError:  # a quotation is open
        return True
    return command.endswith(("\\", "|"))


_PIECE = re.compile(
    r"(?P<any>…|\.\.\.)|(?P<number>\d+(?:[.,:]\d+)*)|(?P<space>\s+)|(?P<home>/home/you)"
)


_ANY_SUCH = {"any": ".*", "number": r"[\d.,:]+", "space": r"\s+", "home": r"\S*"}


def _pattern(line: str) -> re.Pattern[str]:
    """A line of output as a page shows it: numbers differ, columns move, `…` is anything."""
    out = []
    last = 0
    for match in _PIECE.finditer(line):
        out.append(re.escape(line[last : match.start()]))
        out.append(_ANY_SUCH[match.lastgroup or ""])
        last = match.end()
    out.append(re.escape(line[last:]))
    return re.compile(r"\s*" + "".join(out).removesuffix(r"\s+") + r"\s*")


def _lines(shown: str) -> Iterator[str]:
    """The lines that must be printed."""
    return (line for line in shown.splitlines() if line.strip() not in {"", "…", "..."})


def difference(shown: str, printed: str) -> str:
    """The first line of `shown` that was not printed in its turn, or the empty string."""
    rest = iter(printed.splitlines())
    for line in _lines(shown):
        pattern = _pattern(line)
        if not any(pattern.fullmatch(candidate) for candidate in rest):
            return line
    return ""


def missing_lines(shown: str, printed: str) -> Iterator[str]:
    """The lines of `shown` that were not printed, in whatever order."""
    return (line for line in _lines(shown) if difference(line, printed))


_READERS = re.compile(r"\b(headrace consume|kafka-[a-z-]*consumer|kcat -C)\b")


def reads_topics(command: str) -> bool:
    """Whether it prints records of topics: only those of one partition come in a known order."""
    return _READERS.search(command) is not None
