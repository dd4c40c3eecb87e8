"""Names of subjects: `:.context:name`, or just `name` in the default context.

A context is a registry of its own within the registry: it counts its own ids and can have its own
settings. Which contexts and subjects exist is the state's business; this module only reads names.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from headrace.registry import errors

DEFAULT_CONTEXT: Final = "."
EVERY_CONTEXT: Final = ":*:"
# Names that Confluent keeps for itself: the first would be taken for permissions on everything, the
# second stands for the empty name, and the context has settings that all others inherit.
_RESERVED_NAMES: Final = ("__GLOBAL", "__EMPTY")
GLOBAL_CONTEXT: Final = ".__GLOBAL"
GLOBAL_SCOPE: Final = f":{GLOBAL_CONTEXT}:"
LATEST: Final = -1
LARGEST_INT: Final = 2**31 - 1


def split(subject: str) -> tuple[str, str]:
    """The context and the bare name of a subject."""
    if not subject.startswith(":."):
        return DEFAULT_CONTEXT, subject
    context, _, name = subject[1:].partition(":")
    return context, name


def context_of(subject: str | None) -> str:
    """The context of a subject; None stands for the default one."""
    return DEFAULT_CONTEXT if subject is None else split(subject)[0]


def qualified(context: str, name: str) -> str:
    """The full name; the default context is not written."""
    return name if context == DEFAULT_CONTEXT else f":{context}:{name}"


def scope_of(context: str) -> str | None:
    """The key under which a context's own settings are stored."""
    return None if context == DEFAULT_CONTEXT else f":{context}:"


def normalized(subject: str) -> str:
    """One spelling per subject: `:.:name` is `name`, `:.context` is `:.context:`."""
    return qualified(*split(subject))


def beside(parent: str, subject: str) -> str:
    """A subject as somebody in `parent` names it: in the same context unless it says another."""
    if subject.startswith(":."):
        return normalized(subject)
    return qualified(context_of(parent), subject)


def checked(subject: str) -> str:
    """The one spelling of a subject that may be written to; 42208 for names that may not."""
    if context_of(subject) == GLOBAL_CONTEXT:
        raise errors.invalid_subject(subject)
    return _checked_name(subject)


def _checked_name(subject: str) -> str:
    if split(subject)[1] in _RESERVED_NAMES or _has_unwritable(subject):
        raise errors.invalid_subject(subject)
    return normalized(subject)


def _has_unwritable(text: str) -> bool:
    """Whether there are control characters, or halves of surrogate pairs."""
    return any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)


def checked_scope(subject: str | None) -> str | None:
    """What settings are about: a subject, a context, or (None) the default context, as `:.:` is.

    Settings are the one thing that the context `.__GLOBAL` holds.
    """
    return None if subject is None or subject in (":.", ":.:") else _checked_name(subject)


def parsed_context(text: str) -> str:
    """A context as it stands in a URL, with or without colons and its leading dot."""
    name = text.removeprefix(":").removesuffix(":")
    if ":" in name or _has_unwritable(name):
        raise errors.invalid_subject(text)
    return name if name.startswith(".") else f".{name}"


def parsed_version(text: str) -> int:
    """A version number, or LATEST; 42202 for anything else."""
    if text in ("latest", "-1"):
        return LATEST
    if text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_INT)):
        version = int(text)
        if 1 <= version <= LARGEST_INT:
            return version
    raise errors.invalid_version(text)
