"""A TCP proxy that keeps requests which would end a grpcio server away from it."""

from __future__ import annotations

from request_filter.exceptions import BadRequest
from request_filter.frames import Frames
from request_filter.hidden_server import HiddenServer, keep_folders_in
from request_filter.proxy import Proxy
from request_filter.scanner import RequestScanner

__all__ = ["BadRequest", "Frames", "HiddenServer", "Proxy", "RequestScanner", "keep_folders_in"]
