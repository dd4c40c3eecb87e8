"""The interpreter of one page: its Python blocks share their names, as in a notebook.

Reads `LINES MARK`, then that many lines of code, runs them and prints MARK. A block that fails ends
the process with its stack.
"""

from __future__ import annotations

import sys

names: dict[str, object] = {"__name__": "__main__"}
while request := sys.stdin.readline():
    count, mark = request.rstrip("\n").split(" ", 1)
    code = "".join(sys.stdin.readline() for _ in range(int(count)))
    exec(compile(code, "<page>", "exec"), names)
    sys.stdout.write(f"{mark}\n")
    sys.stdout.flush()
