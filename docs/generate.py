"""Writes the pages under docs/reference from the code: `make docs`.

`tests/tidy/test_apis.py` fails when a page is older than the code it describes.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from headrace.broker.handlers import MODULES
from headrace.broker.metrics.page import metrics_page
from headrace.cluster.configuration_page import configuration_page

REFERENCE = Path(__file__).parent / "reference"

_HEAD = """# Protocol support

Generated from the handlers' own descriptions (`make docs`). What ApiVersions answers is built from
the same registrations.

| key | API | versions | advertised |
|---:|---|---|---|
"""


def protocol_support() -> str:
    """The page about which APIs are served, in which versions, with which gaps."""
    rows = []
    sections = []
    for module in sorted(MODULES, key=lambda module: int(module.HANDLER.key)):
        handler = module.HANDLER
        served = _range(handler.versions)
        told = _range(handler.advertised or handler.versions)
        link = f"[{handler.name}](#{handler.name.lower()})"
        rows.append(f"| {handler.key} | {link} | {served} | {told} |")
        sections.append(f"## {handler.name}\n\n{_body(module)}\n")
    return _HEAD + "\n".join(rows) + "\n\n" + "\n".join(sections)


def _range(versions: tuple[int, int]) -> str:
    lowest, highest = versions
    return f"{lowest}" if lowest == highest else f"{lowest}-{highest}"


def _body(module: ModuleType) -> str:
    """A handler's docstring without its first line, as Markdown."""
    text = (module.__doc__ or "").partition("\n\n")[2].strip()
    for heading in ("Behaviour:", "Version notes:", "Not done:"):
        text = text.replace(f"{heading}\n- ", f"{heading}\n\n- ").replace(heading, f"**{heading}**")
    return text


PAGES = {
    "protocol-support.md": protocol_support,
    "configuration.md": configuration_page,
    "metrics.md": metrics_page,
}


def main() -> None:
    for name, build in PAGES.items():
        (REFERENCE / name).write_text(build())


if __name__ == "__main__":
    main()
