"""Protobuf messages by the name of their type, loading generated code only when it is asked for."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Final

from google.protobuf import descriptor_pool, message, message_factory

# Where the types of the xDS protocols live. A name in a file makes nothing else be imported.
_ROOTS: Final = ("envoy", "google", "udpa", "xds")


def empty_message(type_url: str) -> message.Message:
    """Return an empty message of the type that a type URL, or a full name, ends with.

    Raises:
        KeyError: no such type is known.
    """
    full_name = type_url.rpartition("/")[2]
    pool = descriptor_pool.Default()
    try:
        descriptor = pool.FindMessageTypeByName(full_name)
    except KeyError:
        _import_package(full_name.rpartition(".")[0])
        descriptor = pool.FindMessageTypeByName(full_name)
    return message_factory.GetMessageClass(descriptor)()


def _import_package(package: str) -> None:
    """Import all generated modules of one protobuf package, if there is such a package."""
    if package.partition(".")[0] not in _ROOTS:
        return
    try:
        found = importlib.import_module(package)
    except ImportError:
        return
    for module in pkgutil.iter_modules(getattr(found, "__path__", ())):
        if module.name.endswith("_pb2"):
            importlib.import_module(f"{package}.{module.name}")
