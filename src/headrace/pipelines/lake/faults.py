"""What goes wrong with a lake, with its remedy."""

from __future__ import annotations


class LakeFault(Exception):
    """Files cannot be written or found. `passing` says that trying again may help."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class Fenced(LakeFault):
    """Another writer has published what this one was about to publish."""

    def __init__(self, topic: str, partition: int, first: int) -> None:
        super().__init__(
            f"another writer has published {topic}-{partition} from offset {first} on: this one "
            "goes on behind it; let one task alone write a partition into a folder",
            passing=True,
        )


class MissingExtra(LakeFault):
    """A library is not installed."""

    def __init__(self, purpose: str, fault: ImportError) -> None:
        super().__init__(f"{purpose} needs {fault.name}: pip install 'headrace[lake]'")
