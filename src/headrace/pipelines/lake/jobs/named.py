"""Which Python class a setting means: by a class name of Java's, a plugin's name, or a path.

com.linkedin.camus.etl.kafka.coders.StringMessageDecoder    the last part counts, in any case
acme                                                        an entry point of the group
acme.decoders:Coded, decoders.py:Coded                      a class or a function of a module
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from headrace.errors import ConfigError
from headrace.pipelines.run.loading import NoSuchPipeline, load_pipeline


def find(name: str, key: str, built_in: Mapping[str, str], group: str) -> Callable[..., Any]:
    """What `key` names. `built_in` has the last parts of class names, each as `module:Class`."""
    if ":" in name:
        try:
            return load_pipeline(name, Path.cwd()).function
        except NoSuchPipeline as fault:
            raise ConfigError(f"{key}={name}: {fault}") from fault
    last = name.rpartition(".")[2].partition("$")[0]
    known = {each.lower(): where for each, where in built_in.items()}
    where = known.get(last.lower())
    if where is not None:
        module, _, attribute = where.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), attribute)
        return found
    for entry in entry_points(group=group, name=name):
        loaded: Callable[..., Any] = entry.load()
        return loaded
    near = get_close_matches(last.lower(), known, n=1, cutoff=0.6)
    hint = next((each for each in built_in if near and each.lower() == near[0]), "")
    raise ConfigError(
        f"{key}={name}: there is no such class; "
        + (f"did you mean {hint}? " if hint else f"known are {', '.join(built_in)}. ")
        + f"One of your own is named as module:Class, file.py:Class or an entry point of {group}"
    )
