"""What a client needs of this machine, for ``xdspec doctor``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from client_under_test import Client
from client_under_test.environments.toolchain import Found

SHOWN = 4
"""Versions in the cache that are named."""


def toolchain_lines(client: Client, tools: Sequence[Found], kept: Sequence[str]) -> Iterable[str]:
    """What a client needs of this machine, what of it is here, and what is made already.

    Args:
        client: one as it was named.
        tools: its programs, as they were found.
        kept: its versions in the cache.
    """
    manifest = client.manifest
    made = ", ".join(kept[:SHOWN]) or "not yet"
    made += f" and {len(kept) - SHOWN} more" if len(kept) > SHOWN else ""
    if manifest.start.asks:
        state = f"wants to be told, by --env: {', '.join(manifest.start.asks)}"
    elif manifest.python is not None:
        state = f"{manifest.python.distribution} from a package index; made: {made}"
    elif any(tool.is_missing for tool in tools):
        state = "cannot be built here"
    else:
        state = f"built: {made}" if manifest.build is not None else "needs nothing"
    yield f"{client!s:12}  {state}"
    for tool in tools:
        program = tool.tool.program
        if tool.version is None:
            yield f"    missing   {tool.needed}: {tool.tool.get}"
        elif tool.is_old:
            yield f"    too old   {program} {tool.version}, not {tool.needed}: {tool.tool.get}"
        else:
            at_least = f" (at least {tool.tool.at_least})" if tool.tool.at_least else ""
            yield f"    found     {program} {tool.version or 'of unknown version'}{at_least}"
