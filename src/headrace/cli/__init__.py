"""The `headrace` command. `main` decides which modules a run has to load.

`headrace up` is the process that a broker lives in, so it must start at once and stay small: it is
read by a parser of a few lines (`up.parse`) and loads no terminal library. Whatever that parser
does not accept, and every other command, is answered by the typer application in `app`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 (it failed) or 2 (wrong usage)."""
    return guarded(_run, sys.argv[1:] if arguments is None else arguments)


def guarded(command: Callable[[list[str]], int], given: list[str]) -> int:
    """Run a command on all words but `--debug`; whatever goes wrong becomes one line and a code."""
    debug = "--debug" in given
    try:
        if debug:
            from headrace.cli.failures import DEBUG

            DEBUG.set(True)
        code = command([word for word in given if word != "--debug"])
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output (`| head`) has seen enough. The interpreter would complain when
        # it flushes the closed pipe at exit, hence the other descriptor.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if debug:
            raise
        return tell(error)


def _run(words: list[str]) -> int:
    if words[:1] == ["up"]:
        from headrace.cli import up

        request = up.parse(words[1:])
        if request is not None:
            return up.run(request)
    from headrace.cli.app import run

    return run(words)


def tell(error: Exception) -> int:
    """One line on stderr: the cause and the remedy of what the user can mend."""
    from headrace.cli.failures import FAILED, Failure
    from headrace.cli.lines import warn
    from headrace.errors import HeadraceError

    code = error.exit_code if isinstance(error, Failure) else FAILED
    if isinstance(error, HeadraceError | OSError):
        warn(str(error))
    else:
        kind = type(error).__name__
        warn(f"{kind}: {error}; this is a bug, --debug shows where")
    return code
