"""Failures around schemas and values as errors of the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.client.registry import RegistryRefused, RegistryUnreachable
from headrace.errors import ConfigError
from headrace.rest import errors
from headrace.schemas.model import InvalidSchema, InvalidValue


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the registry, a schema or a value is to blame for into its error."""
    try:
        yield
    except RegistryUnreachable as error:
        raise errors.registry_unavailable(str(error)) from None
    except RegistryRefused as error:
        # What the registry finds wrong with a schema is the client's to correct; its own failures,
        # and a proxy that may not sign in, are not.
        if error.http_status in (404, 409, 422):
            raise errors.serialization_failed(error.message) from None
        raise errors.registry_unavailable(str(error)) from None
    except (InvalidSchema, ConfigError) as error:
        raise errors.invalid_schema(str(error)) from None
    except InvalidValue as error:
        raise errors.bad_data(str(error)) from None
