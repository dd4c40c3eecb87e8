"""Topics of MQTT and the filters that select them: `+` stands for one level, `#` for all below."""

from __future__ import annotations

from headrace.pipelines.connect.faults import ConfigException

_SHARED = "$share/"


def check_filter(key: str, text: str) -> None:
    """ConfigException unless a server takes it."""
    levels = _levels(text)
    for number, level in enumerate(levels):
        if "+" in level and level != "+":
            meant = level.replace("+", "+/" if level.startswith("+") else "/+")
            better = "/".join((*levels[:number], meant, *levels[number + 1 :]))
            raise ConfigException.of(
                key, text, f"+ must be a whole level of the filter, as in {better}"
            )
        if "#" in level and (level != "#" or number + 1 < len(levels)):
            raise ConfigException.of(key, text, "# must be the last level of the filter")
    if not text or "\0" in text:
        raise ConfigException.of(key, text, "a filter has at least one character, and none is 0")


def check_topic(key: str, text: str) -> None:
    """ConfigException unless messages can be published to it."""
    if not text or any(each in text for each in "+#\0"):
        raise ConfigException.of(key, text, "a topic that is published to has no + and no #")


def matches(text: str, topic: str) -> bool:
    """Whether a filter selects a topic."""
    wanted, found = _levels(text), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for number, level in enumerate(wanted):
        if level == "#":
            return True
        if number == len(found) or level not in ("+", found[number]):
            return False
    return len(wanted) == len(found)


def _levels(text: str) -> list[str]:
    """Those of the filter itself; `$share/group/` before it names who shares it."""
    if text.startswith(_SHARED):
        text = text.removeprefix(_SHARED).partition("/")[2]
    return text.split("/")
