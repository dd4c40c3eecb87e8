"""The worker that a `headrace connect` command talks to, and its answers as data or failures.

Everything goes through `Worker.ask`, so that a worker that is silent, refuses, or is none at all is
told in the same words by every command.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self, TypeAlias
from urllib.parse import quote, urlencode

from headrace.cli.failures import Failure, did_you_mean
from headrace.cli.parameters import Made, argument, option

DEFAULT_URL: Final = "http://127.0.0.1:8083"
VARIABLE: Final = "HEADRACE_CONNECT_URL"
_TIMEOUT_S: Final = 100.0
_NOT_FOUND: Final = 404
_REMEDIES: Final = {
    400: 'see "headrace connect validate" for every key',
    409: "try again in a moment, or choose another name",
}

UrlOption: TypeAlias = Annotated[
    str,
    option(
        "--url URL,…",
        "A worker's REST API; separate several workers of a cluster with commas.",
        envvar=VARIABLE,
    ),
]
NameArgument: TypeAlias = Annotated[str, argument("NAME", "The connector.")]
NamesArgument: TypeAlias = Annotated[list[str], argument("NAME…", "Connectors.")]


class Worker:
    """One worker, or one of several, for one command; use as a context manager."""

    def __init__(self, url: str) -> None:
        # A tenth of a second that `--help` need not wait for.
        from headrace.client.registry.pool import Pool

        self._url = url
        urls = [each.strip().rstrip("/") for each in url.split(",") if each.strip()]
        self._pool = Pool(urls, timeout_s=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._pool.close()

    def ask(
        self,
        method: str,
        *path: str | int,
        query: Mapping[str, str | list[str]] | None = None,
        body: object = None,
    ) -> Any:
        """The answer, as plain data; the parts of the path may hold any character."""
        from headrace.client.registry.pool import NoAnswer

        target = "/" + "/".join(quote(str(part), safe="") for part in path)
        if query:
            target += "?" + urlencode(query, doseq=True)
        sent = None if body is None else json.dumps(body).encode()
        try:
            reply = self._pool.request(method, target, sent, {"Content-Type": "application/json"})
        except NoAnswer as fault:
            raise Failure(
                f"no worker answers ({fault})",
                'start one with "connect-standalone worker.properties", or name another with --url',
            ) from None
        try:
            answer = json.loads(reply.body) if reply.body else None
        except ValueError:
            answer = {}
        if reply.status < 400:
            return answer
        raise self._refused(reply.status, answer, path)

    def _refused(self, status: int, answer: object, path: tuple[str | int, ...]) -> Failure:
        if not isinstance(answer, dict) or "message" not in answer:
            return Failure(f"{self._url} answers {status} and is not a worker", "correct --url")
        cause = "; ".join(str(answer["message"]).rstrip(".").splitlines())
        if status != _NOT_FOUND or len(path) < 2:
            return Failure(cause, _REMEDIES.get(status, "the worker's log says more"))
        known = self.ask("GET", path[0]) if path[0] == "connectors" else []
        hint = did_you_mean(str(path[1]), known) or f'see "headrace connect {_LISTS[str(path[0])]}"'
        return Failure(cause, hint)


_LISTS: Final = {"connectors": "list", "connector-plugins": "plugins"}


def _worker(url: UrlOption = DEFAULT_URL) -> Worker:
    return Worker(url)


WorkerOptions: TypeAlias = Annotated[Worker, Made(_worker)]
"""The worker that a command talks to, of `--url`; use as a context manager."""
