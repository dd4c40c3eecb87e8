"""Small real servers that are not what a Kafka client hopes for."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

Serve = Callable[[socket.socket], None]


@contextlib.contextmanager
def listening(serve: Serve) -> Iterator[int]:
    """A port whose connections are handed to `serve`, each in a thread, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        stopping = threading.Event()
        threads: list[threading.Thread] = []
        # TLS takes a socket over, so hanging up needs a handle of its own.
        lines: list[socket.socket] = []

        def handle(connection: socket.socket, line: socket.socket) -> None:
            with line, contextlib.suppress(OSError):
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(5)
                    serve(connection)
                line.shutdown(socket.SHUT_RDWR)

        def accept() -> None:
            while not stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = server.accept()
                    lines.append(connection.dup())
                    thread = threading.Thread(
                        target=handle, args=(connection, lines[-1]), daemon=True
                    )
                    threads.append(thread)
                    thread.start()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield server.getsockname()[1]
        finally:
            stopping.set()
            acceptor.join(5)
            for line in lines:
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(6)


def zookeeper(connection: socket.socket) -> None:
    """Answers the four-letter word, closes on anything else."""
    if connection.recv(64)[:4] == b"ruok":
        connection.sendall(b"imok")


def modern_zookeeper(connection: socket.socket) -> None:
    """A ZooKeeper whose administrator did not allow the word."""
    if connection.recv(64)[:4] == b"ruok":
        connection.sendall(b"ruok is not executed because it is not in the whitelist.\n")


def closing(connection: socket.socket) -> None:
    """Takes a question and hangs up."""
    connection.recv(64)


def silent(connection: socket.socket) -> None:
    """Takes questions and never answers."""
    while connection.recv(64):
        pass


def answering(reply: bytes) -> Serve:
    """Answers every question with the same bytes."""

    def serve(connection: socket.socket) -> None:
        while connection.recv(4096):
            connection.sendall(reply)

    return serve


@contextlib.contextmanager
def http_server() -> Iterator[int]:
    class Quiet(http.server.BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's context with a certificate made for the occasion."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
        timeout=60,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def tls(context: ssl.SSLContext, serve: Serve) -> Serve:
    """The same server behind TLS; a client without TLS gets an alert and is closed."""

    def wrapped(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as encrypted:
            serve(encrypted)

    return wrapped


def unused_port() -> int:
    """A port on which nobody listens now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
