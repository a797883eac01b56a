#!/bin/sh
# Builds the adapter of folder $1 with grpc-java $2 here: jars, and an archive of loaded classes.
# With $3 and the Python $4, the jars in $3 take the place of the released ones.
set -eu
cp "$1"/*.java "$1/pom.xml" "$1/java.options" .
run_maven() {
    # Without --update-snapshots, Maven does not look again for a release that it once did not find.
    mvn --batch-mode --update-snapshots --strict-checksums --quiet --no-transfer-progress -Dstyle.color=never "$@" >&2
}
if [ $# -gt 2 ]; then
    case $2 in
    *-SNAPSHOT) run_maven dependency:copy-dependencies ;; # what is no grpc-java, as the pinned release has it
    *) run_maven "-Dgrpc.version=$2" dependency:copy-dependencies ;;
    esac
    "$4" -I "$1/inspect_source.py" "$3" lib
    javac --release 17 -d target -cp 'lib/*' *.java
    {
        printf 'Main-Class: Adapter\nClass-Path:'
        printf ' \n  %s' lib/*.jar
        echo
    } >manifest
    jar --create --file adapter.jar --manifest manifest -C target .
    rm manifest
else
    run_maven "-Dgrpc.version=$2" compiler:compile jar:jar dependency:copy-dependencies
fi
rm -r target *.java pom.xml
# Classes for reading resources are loaded whole: a training sees few kinds of them.
java @java.options -Xlog:disable -Xshare:off -XX:DumpLoadedClassList=classes.txt \
    Training lib/grpc-xds-*.jar lib/protobuf-java-[0-9]*.jar
java @java.options -Xlog:disable -Xshare:dump -XX:SharedClassListFile=classes.txt -XX:SharedArchiveFile=adapter.jsa
rm classes.txt
