"""Every error that the registry's API can answer, one constructor per code.

The codes, the HTTP status (their first three digits) and the short texts are those of Confluent's
Schema Registry, because clients and their test suites compare them. What is said beyond that (which
schema refers to the one that shall go, what a value may be) is ours.

Nothing here knows of HTTP libraries: the API turns a `RegistryError` into a response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.errors import HeadraceError
from headrace.registry.entities import Problem

# Codes of three digits are an HTTP status themselves; those of five begin with it.
LARGEST_HTTP_STATUS: Final = 599


class RegistryError(HeadraceError):
    """A request that is answered with `{"error_code": …, "message": …}`.

    `problems` are the incompatibilities of a 409 in parts, for programs.
    """

    def __init__(
        self, error_code: int, message: str, problems: Sequence[Problem] | None = None
    ) -> None:
        # What is quoted may hold half a surrogate pair, which no response could carry.
        self.message = message.encode("utf-8", "replace").decode()
        super().__init__(self.message)
        self.error_code = error_code
        self.problems = list(problems or ())

    @property
    def http_status(self) -> int:
        """The status of the response."""
        is_status = self.error_code <= LARGEST_HTTP_STATUS
        return self.error_code if is_status else self.error_code // 100


# -- 404: it is not there --------------------------------------------------------------------------


def subject_not_found(subject: str) -> RegistryError:
    """40401."""
    return RegistryError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int | str) -> RegistryError:
    """40402."""
    return RegistryError(40402, f"Version {version} not found.")


def schema_not_found(schema_id: int | str | None = None) -> RegistryError:
    """40403, of an id or a GUID, or of a schema that was looked up by its text."""
    name = "" if schema_id is None else f"{schema_id} "
    return RegistryError(40403, f"Schema {name}not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    """40404: it was deleted before, and `permanent` was not asked for."""
    return RegistryError(
        40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    )


def subject_not_soft_deleted(subject: str) -> RegistryError:
    """40405: permanent deletion comes after the soft one."""
    return RegistryError(
        40405, f"Subject '{subject}' was not deleted first before being permanently deleted"
    )


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    """40406."""
    return RegistryError(
        40406,
        f"Subject '{subject}' Version {version} was soft deleted."
        "Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    """40407."""
    return RegistryError(
        40407,
        f"Subject '{subject}' Version {version} was not deleted first "
        "before being permanently deleted",
    )


def no_subject_compatibility(subject: str) -> RegistryError:
    """40408: only the settings above the subject apply; `defaultToGlobal=true` shows them."""
    return RegistryError(
        40408, f"Subject '{subject}' does not have subject-level compatibility configured"
    )


def no_subject_mode(subject: str) -> RegistryError:
    """40409."""
    return RegistryError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def association_not_found(resource: str) -> RegistryError:
    """40410."""
    return RegistryError(40410, f"No association found for resource '{resource}'")


# -- 409: it contradicts what is there -------------------------------------------------------------


def incompatible_schema(message: str, problems: Sequence[Problem] = ()) -> RegistryError:
    """409: the new version breaks the compatibility level; the message says where."""
    return RegistryError(409, message, problems)


def association_for_subject_exists(association_type: str, subject: str) -> RegistryError:
    """40902."""
    return RegistryError(
        40902,
        f"An association of type '{association_type}' already exists for subject '{subject}'",
    )


def association_for_resource_exists(association_type: str, resource: str) -> RegistryError:
    """40903."""
    return RegistryError(
        40903,
        f"An association of type '{association_type}' already exists for resource '{resource}'",
    )


def strong_association_exists(subject: str) -> RegistryError:
    """40904: one resource owns the subject, nobody else may attach to it."""
    return RegistryError(40904, f"A strong association exists for subject '{subject}'")


def weak_association_exists(subject: str) -> RegistryError:
    """40905: a strong association wants the subject for itself."""
    return RegistryError(40905, f"A weak association exists for subject '{subject}'")


def association_frozen(association_type: str, subject: str) -> RegistryError:
    """40906."""
    return RegistryError(
        40906, f"The association of type '{association_type}' is frozen for subject '{subject}'"
    )


def no_active_subject_version(subject: str) -> RegistryError:
    """40907: an association without a schema needs a subject that has one."""
    return RegistryError(40907, f"No active subject version exists for subject '{subject}'")


def too_many_associations(most: int) -> RegistryError:
    """40908."""
    return RegistryError(40908, f"A maximum of {most} associations already exist")


# -- 422: it is wrong in itself, or not allowed ----------------------------------------------------


def invalid_schema(message: str) -> RegistryError:
    """42201."""
    return RegistryError(42201, message)


def invalid_version(version: object) -> RegistryError:
    """42202."""
    return RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    )


def invalid_compatibility_level() -> RegistryError:
    """42203, also of the policy."""
    return RegistryError(
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, "
        "backward_transitive, forward_transitive, and full_transitive",
    )


def invalid_mode() -> RegistryError:
    """42204."""
    return RegistryError(
        42204,
        "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT and FORWARD",
    )


def operation_not_permitted(message: str) -> RegistryError:
    """42205: the mode, or a setting, forbids it."""
    return RegistryError(42205, message)


def reference_exists(message: str) -> RegistryError:
    """42206: another schema refers to what shall be deleted."""
    return RegistryError(42206, message)


def id_does_not_match(schema_id: int, existing: int) -> RegistryError:
    """42207: the schema exists under another id."""
    return RegistryError(
        42207, f"Schema already registered with id {existing} instead of input id {schema_id}"
    )


def invalid_subject(subject: str) -> RegistryError:
    """42208."""
    return RegistryError(42208, f"The specified subject '{subject}' is not a valid.")


def schema_too_large(size_bytes: int, max_bytes: int) -> RegistryError:
    """42209."""
    return RegistryError(
        42209,
        "Write failed because schema is too large: "
        f"{size_bytes} bytes where {max_bytes} are allowed",
    )


def invalid_rule_set(message: str) -> RegistryError:
    """42210."""
    return RegistryError(42210, message)


def context_not_empty(context: str) -> RegistryError:
    """42211."""
    return RegistryError(42211, f"The specified context '{context}' is not empty.")


def invalid_association(name: str, detail: str) -> RegistryError:
    """42212."""
    return RegistryError(
        42212, f"The association specified an invalid value for property: {name}, detail: {detail}"
    )


# -- 500: the service cannot -----------------------------------------------------------------------


def store_error(message: str) -> RegistryError:
    """50001: the topic could not be written or read."""
    return RegistryError(50001, message)


def operation_timeout(message: str) -> RegistryError:
    """50002."""
    return RegistryError(50002, message)


def forwarding_failed(message: str) -> RegistryError:
    """50003: the primary could not be reached or did not understand."""
    return RegistryError(50003, message)


def unknown_leader(message: str) -> RegistryError:
    """50004: no primary is known."""
    return RegistryError(50004, message)


# -- the registry of encryption keys ---------------------------------------------------------------


def key_not_found(name: str) -> RegistryError:
    """40470."""
    return RegistryError(40470, f"Key '{name}' not found")


def key_not_soft_deleted(name: str) -> RegistryError:
    """40471."""
    return RegistryError(
        40471, f"Key '{name}' was not deleted first before being permanently deleted"
    )


def key_soft_deleted(name: str) -> RegistryError:
    """40472."""
    return RegistryError(40472, f"Key '{name}' must be undeleted first")


def key_already_exists(name: str) -> RegistryError:
    """40971."""
    return RegistryError(40971, f"Key '{name}' already exists; use a different value")


def too_many_keys(most: int) -> RegistryError:
    """40972."""
    return RegistryError(40972, f"A maximum of {most} keys already exist")


def invalid_key(name: str, detail: str) -> RegistryError:
    """42271."""
    return RegistryError(42271, f"Key '{name}' is not valid: {detail}")


def key_is_referenced(name: str) -> RegistryError:
    """42272: data keys still need the key that encrypts them."""
    return RegistryError(42272, f"Key '{name}' has references and cannot be deleted")
