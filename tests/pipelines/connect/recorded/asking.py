"""Questions to a worker over HTTP, and its answers in the form in which they are kept."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request

WAIT_SECONDS = 180


def answer(
    url: str, method: str, path: str, body: object = None, content_type: str = "application/json"
) -> dict[str, object]:
    """What the worker answers: its code and its body. A body that is a text is sent as it is."""
    sent = body if body is None or isinstance(body, str) else json.dumps(body)
    data = None if sent is None else sent.encode()
    headers = {"Content-Type": content_type} if content_type else {}
    request = urllib.request.Request(url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as got:
            code, text = got.status, got.read()
    except urllib.error.HTTPError as fault:
        code, text = fault.code, fault.read()
    return {"answer": _read(text), "method": method, "path": path, "body": body, "code": code}


def _read(text: bytes) -> object:
    try:
        return _lean(json.loads(text)) if text else None
    except ValueError:
        return "no JSON"


def _lean(told: object) -> object:
    """Without documentation, which is not compared, and with the first line of a stack trace."""
    if isinstance(told, list):
        return [_lean(each) for each in told]
    if isinstance(told, dict):
        kept = {key: _lean(value) for key, value in told.items() if key != "documentation"}
        if isinstance(trace := kept.get("trace"), str):
            kept["trace"] = trace.split("\n")[0]
        return kept
    return told


def until(what: str, true: object) -> None:
    """Ask until it is so."""
    assert callable(true)
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            if true():
                return
        except (OSError, ValueError):
            pass  # not ready yet
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def state(url: str, name: str) -> str:
    """What a connector and its tasks do: `RUNNING,FAILED`."""
    told = answer(url, "GET", f"/connectors/{name}/status")["answer"]
    assert isinstance(told, dict)
    tasks = sorted({task["state"] for task in told.get("tasks", [])})
    return ",".join([told.get("connector", {}).get("state", "NONE"), *tasks])


def settled(url: str, name: str, wanted: str) -> None:
    """Wait until a connector and its tasks do this."""
    try:
        until(f"{name} {wanted}", lambda: state(url, name) == wanted)
    except AssertionError:
        raise AssertionError(f"{name} is {state(url, name)}, not {wanted}") from None
