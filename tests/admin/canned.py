"""An `Admin` whose brokers are a list of answers."""

from __future__ import annotations

from typing import Any

from headrace.admin.client import Admin
from headrace.client.settings import client_settings


class Canned(Admin):
    """Answers in turn, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(client_settings({"retry.backoff.ms": "1"})[0])
        self.asked: list[Any] = []
        self._answers = list(answers)

    def ask(self, request: Any) -> Any:
        self.asked.append(request)
        return self._answers.pop(0)
