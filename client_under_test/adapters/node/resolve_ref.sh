#!/bin/sh
# Prints the version of grpc-js-xds that the dist-tag $1 stands for.
set -eu
tag=$(npm view --json @grpc/grpc-js-xds dist-tags."$1")
[ -n "$tag" ] || {
    echo "npm knows: $(npm view --json @grpc/grpc-js-xds dist-tags | tr -d '\n')" >&2
    exit 1
}
echo "{\"version\": $tag}"
