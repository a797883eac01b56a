"""Clients under test: the adapter contract, manifests, environments and the shipped adapters."""

from client_under_test.environments import Identity, Prepared, cache, prepare
from client_under_test.launching.channels import (
    CALL_ID_KEY,
    Batch,
    Call,
    Channel,
    OpenedStream,
    Outcome,
    StateSeen,
    StateWatch,
)
from client_under_test.launching.process import ClientProcess, Exit
from client_under_test.manifests.clients import Client, built_in, find
from client_under_test.manifests.manifest import Manifest

__all__ = [
    "CALL_ID_KEY",
    "Batch",
    "Call",
    "Channel",
    "Client",
    "ClientProcess",
    "Exit",
    "Identity",
    "Manifest",
    "OpenedStream",
    "Outcome",
    "Prepared",
    "StateSeen",
    "StateWatch",
    "built_in",
    "cache",
    "find",
    "prepare",
]
