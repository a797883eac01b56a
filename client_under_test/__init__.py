"""Clients under test: the adapter contract, manifests, environments and the shipped adapters."""

from client_under_test.channels import (
    CALL_ID_KEY,
    Batch,
    Call,
    Channel,
    OpenedStream,
    Outcome,
    StateSeen,
    StateWatch,
)
from client_under_test.clients import Client, built_in, find
from client_under_test.environments import Prepared, cache, prepare
from client_under_test.manifest import Manifest
from client_under_test.process import ClientProcess, Exit

__all__ = [
    "CALL_ID_KEY",
    "Batch",
    "Call",
    "Channel",
    "Client",
    "ClientProcess",
    "Exit",
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
