#!/bin/sh
# Puts the adapter of folder $1 and its packages here: those of its lock file, or grpc-js-xds $2.
set -eu
cp "$1/adapter.js" .
if grep -q "\"@grpc/grpc-js-xds\": \"$2\"" "$1/package.json"; then
    cp "$1/package.json" "$1/package-lock.json" .
    npm ci --ignore-scripts --no-audit --no-fund
else
    echo '{ "private": true }' >package.json
    npm install --ignore-scripts --no-audit --no-fund "@grpc/grpc-js-xds@$2"
fi
