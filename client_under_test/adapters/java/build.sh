#!/bin/sh
# Builds the adapter of folder $1 with grpc-java $2 here: jars, and an archive of loaded classes.
set -eu
cp "$1"/*.java "$1/pom.xml" "$1/java.options" .
mvn --batch-mode --strict-checksums --quiet --no-transfer-progress "-Dgrpc.version=$2" \
    compiler:compile jar:jar dependency:copy-dependencies >&2
rm -r target *.java pom.xml
# Classes for reading resources are loaded whole: a training sees few kinds of them.
java @java.options -Xlog:disable -Xshare:off -XX:DumpLoadedClassList=classes.txt \
    Training lib/grpc-xds-*.jar lib/protobuf-java-[0-9]*.jar
java @java.options -Xlog:disable -Xshare:dump -XX:SharedClassListFile=classes.txt -XX:SharedArchiveFile=adapter.jsa
rm classes.txt
