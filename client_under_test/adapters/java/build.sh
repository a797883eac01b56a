#!/bin/sh
# Builds the adapter of folder $1 with grpc-java $2 here: jars, and an archive of loaded classes.
set -eu
cp "$1"/*.java "$1/pom.xml" "$1/java.options" .
mvn --batch-mode --quiet --no-transfer-progress "-Dgrpc.version=$2" \
    compiler:compile jar:jar dependency:copy-dependencies >&2
rm -r target *.java pom.xml
# Classes for reading resources are loaded whole, as nothing is served in a training.
java @java.options -Xlog:disable -XX:ArchiveClassesAtExit=adapter.jsa \
    Training lib/grpc-xds-*.jar lib/protobuf-java-[0-9]*.jar
