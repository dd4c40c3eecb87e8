"""Values against a schema: the `jsonschema` library with the keywords that could hang replaced.

The library matches patterns with Python's backtracking engine and compares the items of a unique
array pair by pair. Both take their time from the data, so they are answered here in bounded time.
What a schema means is left to the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from headrace.schemas.json_schema.documents import Document, Documents, assemble
from headrace.schemas.json_schema.drafts import Draft
from headrace.schemas.json_schema.patterns import PatternRefused, may_explode, search
from headrace.schemas.json_schema.text import comparable_text
from headrace.schemas.model import InvalidValue

_SHOWN_CHARACTERS: Final = 300


def check_value(validator: Any, value: object) -> None:
    """InvalidValue, with the path and the reason, if the value does not fit."""
    try:
        error = next(validator.iter_errors(value), None)
    except RecursionError:
        raise InvalidValue("the value nests too deeply to be validated") from None
    except (PatternRefused, re.error) as refused:
        raise InvalidValue(f"a pattern of the schema cannot be matched: {refused}") from None
    if error is not None:
        path = "#/" + "/".join(str(each) for each in error.absolute_path)
        raise InvalidValue(f"{path}: {_shortened(error.message)}")


def build_validator(documents: Documents) -> Any:
    """A validator for the root document that finds its references among the others."""
    _refuse_unbounded(documents)
    draft = documents.root.draft
    # The library picks a stock class wherever it meets `$schema`, which would bring back the
    # keywords that are replaced below.
    root = _without_dialect(documents.root, draft)
    references = [_without_dialect(each, draft) for each in documents.references]
    return _bounded_class(draft)(root.schema, registry=assemble(root, references).registry)


@cache
def meta_validator(draft: Draft) -> Any:
    """A validator for schemas of a draft."""
    stock = _stock_class(draft)
    return stock(stock.META_SCHEMA)


@cache
def _bounded_class(draft: Draft) -> Any:
    from jsonschema.validators import extend

    keywords = {
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    if "additionalItems" in draft.assertions:
        keywords["additionalItems"] = _additional_items
    return extend(_stock_class(draft), keywords)


def _stock_class(draft: Draft) -> Any:
    from jsonschema.validators import validator_for

    return validator_for({"$schema": draft.uri})


def _without_dialect(document: Document, draft: Draft) -> Document:
    if document.draft is not draft or not isinstance(document.schema, dict):
        return document
    kept = {keyword: value for keyword, value in document.schema.items() if keyword != "$schema"}
    return Document(document.name, kept, document.draft)


def _refuse_unbounded(documents: Documents) -> None:
    """`unevaluatedProperties` matches patterns inside the library, out of our reach."""
    patterns: list[str] = []
    is_used = False
    for document in (documents.root, *documents.references):
        waiting: list[object] = [document.schema]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                is_used = is_used or "unevaluatedProperties" in value
                by_pattern = value.get("patternProperties")
                patterns.extend(by_pattern if isinstance(by_pattern, dict) else ())
                waiting.extend(value.values())
            elif isinstance(value, list):
                waiting.extend(value)
    risky = [each for each in patterns if may_explode(each)] if is_used else []
    if risky:
        raise InvalidValue(
            f"the pattern {risky[0][:80]!r} beside unevaluatedProperties cannot be matched in "
            "bounded time; write it without nested repetitions"
        )


def _shortened(message: str) -> str:
    """The library shows the value first and the reason last, so the middle is what can go."""
    if len(message) <= _SHOWN_CHARACTERS:
        return message
    half = _SHOWN_CHARACTERS // 2
    return f"{message[:half]} … {message[-half:]}"


def _pattern(validator: Any, pattern: str, instance: object, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not search(pattern, instance):
        yield _error(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, by_pattern: dict[str, Any], instance: object, _schema: Any
) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, schema in by_pattern.items():
            for name, value in instance.items():
                if search(pattern, name):
                    yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, additional: Any, instance: object, schema: dict[str, Any]
) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(search(each, name) for each in patterns):
            continue
        if additional is False:
            yield _error(f"the property {name!r} is not allowed")
        else:
            yield from validator.descend(value, additional, path=name)


def _additional_items(
    validator: Any, additional: Any, instance: object, schema: dict[str, Any]
) -> Iterator[Any]:
    """The library's own rule fails with a TypeError where `items` is a boolean."""
    listed = schema.get("items")
    if not isinstance(instance, list) or not isinstance(listed, list):
        return
    for index, value in enumerate(instance[len(listed) :], len(listed)):
        if additional is False:
            yield _error(f"item {index} is not allowed")
        else:
            yield from validator.descend(value, additional, path=index)


def _unique_items(_validator: Any, unique: object, instance: object, _schema: Any) -> Iterator[Any]:
    if unique and isinstance(instance, list):
        seen: set[str] = set()
        for index, item in enumerate(instance):
            text = comparable_text(item)
            if text in seen:
                yield _error(f"item {index} is there twice, and items must be unique")
                return
            seen.add(text)


def _error(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)
