"""What a client.toml must obey that its types cannot say. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from packaging.version import Version

from client_under_test.manifests.manifest import (
    Build,
    Editions,
    Manifest,
    Source,
    Start,
    Variant,
)
from client_under_test.manifests.version_ranges import beginning, is_range, is_version


def broken_rules(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Pairs of field and sentence, for rules that types cannot say."""
    if (manifest.version is None) == (manifest.python is None):
        yield "version", "needed if there is no [python] table, and only then"
    pinned = manifest.python.version if manifest.python is not None else None
    for field, version in (("version", manifest.version), ("python.version", pinned)):
        if version is not None and not is_version(version):
            yield field, f"{version} is not a version such as 1.70.0"
    placeholders = {"python", "folder", "version"} | (
        {"output"} if manifest.build is not None else set()
    )
    yield from _broken_rules_of_start(manifest.start, placeholders)
    yield from _broken_rules_of_making(manifest)
    yield from _broken_rules_of_environment(manifest)
    for knob, passing in manifest.knobs.items():
        if (passing.option is None) == (passing.environment is None):
            yield f"knobs.{knob}", "give either option or environment"
    ranges = [
        *((f"editions[{n}]", table.versions) for n, table in enumerate(manifest.editions)),
        *((f"ring-key-formats[{n}]", t.versions) for n, t in enumerate(manifest.ring_key_formats)),
        *((f"choices[{n}]", choice.versions) for n, choice in enumerate(manifest.choices)),
        *((f"variants.{name}", variant.versions) for name, variant in manifest.variants.items()),
        *([("build", manifest.build.versions or "")] if manifest.build is not None else []),
    ]
    for field, versions in ranges:
        if not is_range(versions):
            yield f"{field}.versions", f"{versions} is not a range such as >=1.59,<1.65"
            return
    yield from _broken_rules_of_evidence(manifest)


def _broken_rules_of_evidence(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Report ranges that do not start with the release that the evidence names, or the oldest."""
    oldest = beginning(manifest.build.versions or "") if manifest.build is not None else None
    tables: list[tuple[str, Editions | Variant]] = [
        *((f"editions[{n}]", table) for n, table in enumerate(manifest.editions)),
        *((f"variants.{name}", variant) for name, variant in manifest.variants.items()),
    ]
    for field, table in tables:
        since = table.evidence.since if table.evidence is not None else None
        if since is None:
            continue
        if not is_version(since):
            yield f"{field}.evidence.since", f"{since} is not a version such as 1.70.0"
            continue
        begins = beginning(table.versions)
        if begins is None and (oldest is None or Version(since) <= oldest):
            continue
        if begins != Version(since):
            yield f"{field}.versions", f"the evidence is for >={since}"


def _broken_rules_of_start(start: Start, placeholders: set[str]) -> Iterator[tuple[str, str]]:
    yield from _unknown_placeholders("start.command", start.command, placeholders)
    if start.reads_late is not None and not _is_python(start.command):
        how = "`{python} -I SCRIPT` or `{python} -I -m PACKAGE`"
        yield "start.reads-late", f"only for what is started by {how}"


def _is_python(command: tuple[str, ...]) -> bool:
    """Return whether the command runs a Python script or package without arguments."""
    return command[:2] == ("{python}", "-I") and len(command) == (4 if "-m" in command else 3)


def _broken_rules_of_making(manifest: Manifest) -> Iterator[tuple[str, str]]:
    if manifest.python is not None and manifest.build is not None:
        yield "build", "a client has either a [python] or a [build] table"
    if manifest.build is not None:
        yield from _broken_rules_of_build(manifest.build)
    if manifest.refs is not None:
        known = {"folder", "ref", "cache", "python"}
        yield from _unknown_placeholders("refs.resolve", manifest.refs.resolve, known)
    if manifest.source is not None:
        yield from _broken_rules_of_source(manifest.source, manifest)


def _broken_rules_of_build(build: Build) -> Iterator[tuple[str, str]]:
    allowed = {"folder", "output", "cache"} | ({"version"} if build.versions else set())
    yield from _unknown_placeholders("build.command", build.command, allowed)
    for path in (*(build.sources or ()), *build.environment):
        if "\0" in path:
            yield "build", f"{path!r} has a NUL, which no path and no variable can have"
    for tool in build.tools:
        if tool.at_least is not None and not is_version(tool.at_least):
            yield "build.tools", f"{tool.at_least} is not a version such as 1.70"


def _broken_rules_of_source(source: Source, manifest: Manifest) -> Iterator[tuple[str, str]]:
    commands = {"source.inspect": source.inspect, "source.build": source.build}
    if source.is_program:
        if manifest.build is not None:
            yield "source.start-environment", "only for a client without a [build] table"
        if source.inspect is None:
            yield "source", "a program needs inspect, which prints its version"
    elif manifest.python is not None and any(commands.values()):
        yield (
            "source",
            "sources of a client with a [python] table are installed: it has no commands",
        )
    elif manifest.build is None and manifest.python is None:
        yield (
            "source",
            "only for a client with a [python] or a [build] table, or with start-environment",
        )
    if manifest.build is not None and not all(commands.values()):
        yield "source", "give both inspect and build"
    named = {"source"} | ({"output"} if source.build is not None else set())
    for name, value in source.start_environment.items():
        yield from _unknown_placeholders(f"source.start-environment.{name}", (value,), named)
    of_build = {"output", "version", "cache"}
    for field, command in commands.items():
        known = {"folder", "source", "python"} | (of_build if field == "source.build" else set())
        yield from _unknown_placeholders(field, command or (), known)


def _unknown_placeholders(
    field: str, command: tuple[str, ...], known: set[str]
) -> Iterator[tuple[str, str]]:
    names = ", ".join(f"{{{name}}}" for name in sorted(known))
    for part in command:
        if "\0" in part:
            yield field, "has a NUL, which no command can have"
        for found in re.findall(r"\{(.*?)\}", part):
            if found not in known:
                yield field, f"{{{found}}} is unknown here: there are {names}"
        if re.search(r"[{}]", re.sub(r"\{.*?\}", "", part)):
            yield field, f"{part} has a brace that is none of a placeholder: there are {names}"


def _environments_of(source: Source | None) -> Mapping[str, Mapping[str, str]]:
    if source is None:
        return {}
    return {
        "source.environment": source.environment,
        "source.start-environment": source.start_environment,
    }


def _broken_rules_of_environment(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Report names that no system accepts as an environment variable."""
    knobs = {str(knob): passing.environment for knob, passing in manifest.knobs.items()}
    tables: dict[str, Mapping[str, str]] = {
        "start.environment": manifest.start.environment,
        "start.asks": dict.fromkeys(manifest.start.asks, ""),
        **{
            f"variants.{name}.environment": variant.environment
            for name, variant in manifest.variants.items()
        },
        **{f"knobs.{knob}.environment": {name: ""} for knob, name in knobs.items() if name},
        **_environments_of(manifest.source),
    }
    for field, variables in tables.items():
        for name, value in variables.items():
            if not name or "=" in name or "\0" in name + value:
                yield field, f"{name!r} cannot be set: a name has no `=`, and nothing has a NUL"
