#!/bin/sh
# Builds the adapter of folder $1 into this folder: with version $2 of grpc-go, or with that in folder $3.
set -eu
cp "$1"/*.go .
if grep -q "google.golang.org/grpc v$2\$" "$1/go.mod" || [ $# -gt 2 ]; then
    cp "$1/go.mod" "$1/go.sum" .
else
    go mod init xdspec/adapter
    go get "google.golang.org/grpc@v$2"
    go mod tidy
fi
if [ $# -gt 2 ]; then
    # By a link, as not every path can stand in a go.mod. What else it needs than a release is added.
    ln -s "$3" grpc
    go mod edit -replace=google.golang.org/grpc=./grpc
    export GOFLAGS="${GOFLAGS:-} -mod=mod"
fi
go build -trimpath -ldflags='-s -w' -o adapter .
rm -f grpc
