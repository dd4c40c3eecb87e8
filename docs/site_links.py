"""What the website adds to the pages: the README as its first page, links into the repository, bars
in tables.

Pages link to sources and folders beside them, which a reader of the repository can open. The
website has the pages alone: a link that leaves `docs/` or names a folder leads to the repository.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from mkdocs.structure.files import File, Files

_DOCS = Path(__file__).parent
_LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
# A bar in the code of a table's cell is escaped, and the backslash would be shown.
_ESCAPED = "\\|"
_BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")


def on_files(files: Files, config: Any) -> Files:
    """The README of the repository is the home page."""
    readme = (_DOCS.parent / "README.md").read_text()
    files.append(File.generated(config, "index.md", content=readme))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point the links that the website cannot follow to the repository."""
    is_home = page.file.src_uri == "index.md"
    folder = "" if is_home else join("docs", dirname(page.file.src_uri))

    def lead(match: re.Match[str]) -> str:
        target = normpath(join(folder, match[1]))
        inside = target.removeprefix("docs/")
        if inside != target and files.get_file_from_path(inside) is not None:
            return f"]({inside}{match[2] or ''})" if is_home else match[0]
        kind = "tree" if (_DOCS.parent / target).is_dir() else "blob"
        return f"]({config['repo_url']}/{kind}/main/{target}{match[2] or ''})"

    return _BAR.sub(
        lambda code: f"<code>{code[1].replace(_ESCAPED, '&#124;')}</code>",
        _LINK.sub(lead, markdown),
    )
