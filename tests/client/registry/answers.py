"""An HTTP server that says what it is told, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answers:
    """`replies` by path: status and body; `asked` has method, path, headers and body of each."""

    def __init__(self, replies: dict[str, tuple[int, bytes]]) -> None:
        self.replies = replies
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections = 0
        self.closes_after_each = False
        self.url = ""


@contextmanager
def answering(replies: dict[str, tuple[int, bytes]]) -> Iterator[Answers]:
    answers = Answers(replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            answers.connections += 1
            super().setup()

        def answer(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            lower = {name.lower(): value for name, value in self.headers.items()}
            answers.asked.append((self.command, self.path, lower, self.rfile.read(size)))
            status, body = answers.replies.get(
                self.path, (404, b'{"error_code":40403,"message":"Schema not found"}')
            )
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            # Closed without a word, as a server does with a connection that lay idle.
            self.close_connection = answers.closes_after_each

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    answers.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield answers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
