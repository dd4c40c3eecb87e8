"""Python source under construction: lines, the names they use, and the function they become.

The finished text is registered with `linecache`, so tracebacks, debuggers and profilers show the
generated lines. Knows nothing of messages.
"""

from __future__ import annotations

import linecache
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """Lines of Python and the objects that they refer to by name."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = dict(names)
        self._lines: list[str] = []
        self._depth = 0
        self._serial = 0

    def __call__(self, line: str) -> None:
        """Add one line at the current depth."""
        self._lines.append("    " * self._depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add `head` and indent what follows inside the `with`."""
        self(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, hint: str) -> str:
        """A variable name that nothing else uses."""
        self._serial += 1
        return f"{hint}_{self._serial}"

    def constant(self, value: Any) -> str:
        """An expression for a value: the name that it is known by, or its literal."""
        for name, known in self.names.items():
            if known is value:
                return name
        return repr(value)

    def bind(self, name: str, value: Any) -> str:
        """A name for this object; the wished one unless another object has it."""
        if self.names.setdefault(name, value) is not value:
            name = self.fresh(name)
            self.names[name] = value
        return name

    def unpacker(self, codes: str) -> str:
        return self._struct_method("unpack", codes, "unpack_from")

    def packer(self, codes: str) -> str:
        return self._struct_method("pack", codes, "pack")

    def _struct_method(self, verb: str, codes: str, method: str) -> str:
        name = f"{verb}_{codes.replace('?', 'z').replace('16s', 'u')}"
        if name not in self.names:
            self.names[name] = getattr(struct.Struct(">" + codes), method)
        return name

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def build(self, function: str, title: str) -> Callable[..., Any]:
        """Compile the text and return the function of this name."""
        text, filename = self.text(), f"<headrace {title}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec"), self.names)
        built: Callable[..., Any] = self.names[function]
        return built
