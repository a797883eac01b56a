#!/bin/sh
# Fetches grpc-java's stock client $2 by the pom.xml of folder $1, with an archive of its classes.
set -eu
mvn --batch-mode --strict-checksums --quiet --no-transfer-progress --file "$1/pom.xml" "-Dgrpc.version=$2" \
    dependency:copy-dependencies "-DoutputDirectory=$PWD/lib" >&2
cp "$1/java.options" .
# What a few seconds without a control plane load is what every start loads; SIGTERM ends it well.
GRPC_XDS_BOOTSTRAP_CONFIG='{"xds_servers": [{"server_uri": "localhost:1",
    "channel_creds": [{"type": "insecure"}]}], "node": {"id": "training"}}' \
    timeout 5 java @java.options -Xlog:disable -XX:ArchiveClassesAtExit=client.jsa \
    io.grpc.testing.integration.XdsTestClient --server=xds:///training --stats_port=0 >&2 || [ $? = 124 ]
