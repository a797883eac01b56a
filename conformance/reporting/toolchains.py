"""What a client needs of this machine, for ``xdspec doctor``."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

from client_under_test.environments.toolchain import FoundProgram
from client_under_test.manifests.clients import Client


def missing_program(client: Client) -> str | None:
    """Return the missing program of a client without a build; None if it exists."""
    program = client.manifest.start.command[0].replace("{folder}", str(client.folder))
    is_here = program == "{python}" or shutil.which(program) is not None
    return None if is_here else program


SHOWN = 4
"""Versions in the cache that are named."""


def toolchain_lines(
    client: Client, tools: Sequence[FoundProgram], kept: Sequence[str]
) -> Iterable[str]:
    """Yield the tools that a client needs, those on this machine, and the cached builds.

    Args:
        client: one as it was named.
        tools: its programs, as they were found.
        kept: its versions in the cache.
    """
    manifest = client.manifest
    made = ", ".join(kept[:SHOWN]) or "not yet"
    made += f" and {len(kept) - SHOWN} more" if len(kept) > SHOWN else ""
    if client.source is not None:
        state = f"from {client.source}"
    elif manifest.start.asks:
        state = f"needs values by --env: {', '.join(manifest.start.asks)}"
    elif manifest.python is not None:
        state = f"{manifest.python.distribution} from a package index; in the cache: {made}"
    elif any(tool.is_missing for tool in tools):
        state = "cannot be built here"
    elif manifest.build is not None:
        state = f"built: {made}"
    elif program := missing_program(client):
        state = f"has no program yet: {program} does not exist"
    else:
        state = "needs no build"
    yield f"{client!s:12}  {state}"
    for tool in tools:
        program = tool.name
        if tool.version is None:
            yield f"    missing   {tool.needed}: {tool.tool.get}"
        elif tool.is_old:
            yield f"    too old   {program} {tool.version}, not {tool.needed}: {tool.tool.get}"
        else:
            at_least = f" (at least {tool.tool.at_least})" if tool.tool.at_least else ""
            yield f"    found     {program} {tool.version or 'of unknown version'}{at_least}"
