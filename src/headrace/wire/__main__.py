"""Shows what the compiler makes of a message.

python -m headrace.wire list
python -m headrace.wire show FetchRequest 12
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headrace.errors import ClientFault

from . import registry
from .compiler import check_version
from .decoding import write_decoder
from .encoding import write_encoder
from .schema import info

USAGE = """usage: python -m headrace.wire list
       python -m headrace.wire show MESSAGE VERSION     for example: show FetchRequest 12"""


class WrongUsage(Exception):
    """The command cannot be understood; the text says why."""


def main(arguments: Sequence[str]) -> int:
    """Run one command; the exit code is 0, or 2 for a command that makes no sense."""
    try:
        match arguments:
            case ["list"]:
                print(list_apis())
            case ["show", name, version]:
                print(show(name, version))
            case _:
                raise WrongUsage(USAGE)
    except WrongUsage as fault:
        print(fault, file=sys.stderr)
        return 2
    return 0


def list_apis() -> str:
    """A line per API: key, name, versions, the first flexible one."""
    lines = [f"{'KEY':>3}  {'NAME':<24} VERSIONS  FLEXIBLE FROM"]
    lines += [
        f"{api.key:>3}  {api.name:<24} {f'{api.min_version}-{api.max_version}':<8}  "
        f"{info(api.request).flexible}"
        for api in registry.all_apis()
    ]
    return "\n".join(lines)


def show(name: str, version: str) -> str:
    """The source of decoder and encoder of one message version."""
    cls = find_message(name)
    if not version.isdecimal():
        raise WrongUsage(f"{version!r} is not a version; give a number, as in: show {name} 3")
    try:
        check_version(info(cls), int(version))
    except ClientFault as fault:
        raise WrongUsage(fault.message) from fault
    return write_decoder(cls, int(version)).text() + "\n" + write_encoder(cls, int(version)).text()


def find_message(name: str) -> type:
    """The request or response class of this name."""
    for api in registry.all_apis():
        if name == f"{api.name}Request":
            return api.request
        if name == f"{api.name}Response":
            return api.response
    raise WrongUsage(
        f"no message {name!r}; names end in Request or Response: see python -m headrace.wire list"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
