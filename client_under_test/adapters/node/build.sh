#!/bin/sh
# Puts the adapter of folder $1 and its packages here: those of its lock file, or grpc-js-xds $2.
set -eu
cp "$1/adapter.js" "$1/policy.js" "$1/warm.js" "$1/node.options" .
if grep -q "\"@grpc/grpc-js-xds\": \"$2\"" "$1/package.json"; then
    cp "$1/package.json" "$1/package-lock.json" .
    npm ci --ignore-scripts --no-audit --no-fund
else
    echo '{ "private": true }' >package.json
    npm install --ignore-scripts --no-audit --no-fund "@grpc/grpc-js-xds@$2"
fi
# A Node.js that cannot do this starts the adapter the plain way.
if node warm.js && node $(grep -v '^#' node.options) --no-warnings --snapshot-blob warm.blob --build-snapshot warm.js; then
    ls -lL "$(command -v node)" >warm.node
fi
