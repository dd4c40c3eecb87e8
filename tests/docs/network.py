"""A network of one's own, so that pages can name the ports that a reader will see.

A guide says `127.0.0.1:9092`; a test may not take that port on the machine it runs on. A new
network namespace of Linux has a loopback interface and every port free. Root may make one, others
where user namespaces are allowed.
"""

from __future__ import annotations

import fcntl
import shutil
import socket
import struct
import subprocess

_SIOCSIFFLAGS = 0x8914
_IFF_UP_AND_RUNNING = 0x41


def private_network() -> list[str] | None:
    """The words to put before a command so that it has a network of its own; None: not allowed."""
    if shutil.which("unshare") is None:
        return None
    for words in (["unshare", "--net", "--"], ["unshare", "--net", "--map-root-user", "--"]):
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    return None


def raise_loopback() -> None:
    """Switch on the loopback interface of the network that this process is in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", _IFF_UP_AND_RUNNING)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)
