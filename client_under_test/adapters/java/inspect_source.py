"""Print the version of the grpc-java in a folder, or say why the folder has none.

With a second argument, a folder of jars, replace the jars of the same artifacts there.
"""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import json
import re
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Final

XDS: Final = "grpc-xds"

NEEDED: Final = (
    "grpc-alts",
    "grpc-api",
    "grpc-auth",
    "grpc-context",
    "grpc-core",
    "grpc-netty-shaded",
    "grpc-protobuf",
    "grpc-protobuf-lite",
    "grpc-services",
    "grpc-stub",
    "grpc-util",
    "grpc-xds",
)
"""What must come from one build, if that is no release: Maven has the rest of a release only."""

PUBLISH: Final = "./gradlew publishToMavenLocal -PskipAndroid=true -PskipCodegen=true"

NO_LIBRARY: Final = ("sources", "javadoc", "tests", "test-fixtures", "testFixtures")
"""Classifiers of jars without a library."""


def main() -> None:
    """Look at the folder that the first argument names."""
    path, *folder = map(Path, sys.argv[1:])
    jars = jars_in(path)
    version = version_of(jars[XDS])
    for artifact, jar in jars.items():
        own = split(jar)[1]
        if artifact.startswith("grpc-") and own not in ("", version):
            sys.exit(f"{jar.name} does not belong to {jars[XDS].name}, which is {version}")
    if version.endswith("-SNAPSHOT"):
        missing = [jar for jar in NEEDED if jar not in jars]
        if missing:
            sys.exit(f"it lacks {', '.join(missing)}: add the jars of {version}")
    if folder:
        put(jars, version, folder[0])
        return
    sys.stdout.write(json.dumps({"version": version}))


def jars_in(path: Path) -> dict[str, Path]:
    """Return the jars of a folder or of a Maven repository, by artifact."""
    if path.is_file():
        sys.exit("it is a file: name the folder that contains it")
    if (path / "xds" / "build.gradle").is_file() and not list(path.glob(f"{XDS}*.jar")):
        sys.exit(
            "it is a checkout, which the suite does not build. "
            f"Run `{PUBLISH} -Dmaven.repo.local=FOLDER` there, then name FOLDER"
        )
    group = path / "io" / "grpc"
    if not group.is_dir():
        return by_artifact(sorted(path.glob("*.jar")))
    versions = sorted(pom.parent.name for pom in group.glob(f"{XDS}/*/{XDS}-*.pom"))
    if len(set(versions)) > 1:
        sys.exit(f"it has {XDS} in the versions {', '.join(versions)}: name one that has a single")
    if not versions:
        sys.exit(f"its folder io/grpc has no {XDS}")
    return by_artifact(sorted(group.glob(f"*/{versions[0]}/*-{versions[0]}.jar")))


def by_artifact(jars: list[Path]) -> dict[str, Path]:
    """Return the library jars among these jars, by artifact."""
    found: dict[str, Path] = {}
    for jar in jars:
        artifact, version = split(jar)
        if version.endswith(NO_LIBRARY) or artifact.endswith(NO_LIBRARY):
            continue
        if not re.fullmatch(r"[\w.+-]+", jar.name, re.ASCII):
            sys.exit(f"{jar.name!r} is no name for a jar: use letters, digits and . + - _ only")
        if artifact in found:
            sys.exit(f"it has {artifact} twice: {found[artifact].name} and {jar.name}")
        found[artifact] = jar
    if XDS not in found:
        sys.exit(f"it has no jar of {XDS}, such as {XDS}-1.85.1.jar")
    return found


def split(jar: Path) -> tuple[str, str]:
    """Return the artifact and the version in a jar's name; the version may be ""."""
    artifact, _, version = re.sub(r"-(?=\d)", "\0", jar.stem, count=1).partition("\0")
    return artifact, version


def version_of(jar: Path) -> str:
    """Return the version that the library reports: its Implementation-Version."""
    try:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
            archive.getinfo("io/grpc/xds/RingHashOptions.class")
    except KeyError as missing:
        sys.exit(f"{jar.name} is not {XDS}: {missing.args[0]}")
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as trouble:
        sys.exit(f"{jar.name} cannot be read as a jar: {trouble}")
    found = re.search(r"^Implementation-Version: *(\S+)", text, re.MULTILINE)
    if found is None:
        sys.exit(f"{jar.name} does not say its version: its manifest has no Implementation-Version")
    return found[1]


def put(jars: dict[str, Path], version: str, folder: Path) -> None:
    """Replace the jars of the same artifacts; a name without a version gets one."""
    old = by_artifact(sorted(folder.glob("*.jar")))
    for artifact, jar in jars.items():
        if artifact in old:
            old[artifact].unlink()
        name = jar.name if split(jar)[1] else f"{artifact}-{version}.jar"
        (folder / name).write_bytes(jar.read_bytes())


if __name__ == "__main__":
    main()
