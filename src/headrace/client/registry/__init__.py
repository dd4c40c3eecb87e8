"""A client of Schema Registry, and what turns values into framed bytes with its help.

Blocking and safe for many threads, for whoever works on records by schema: the REST Proxy, the
commands, Spark's workers. `client` knows the registry's resources, `serdes` the records; `settings`
reads the property names that Confluent's clients share. Compatibility and storage belong to the
registry.
"""

from headrace.client.registry.client import RegisteredSchema, RegistryClient
from headrace.client.registry.faults import RegistryRefused, RegistryUnreachable
from headrace.client.registry.serdes import Decoded, SchemaChoice, Serdes, Writer
from headrace.client.registry.settings import RegistrySettings, registry_settings

__all__ = [
    "Decoded",
    "RegisteredSchema",
    "RegistryClient",
    "RegistryRefused",
    "RegistrySettings",
    "RegistryUnreachable",
    "SchemaChoice",
    "Serdes",
    "Writer",
    "registry_settings",
]
