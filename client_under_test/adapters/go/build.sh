#!/bin/sh
# Builds the adapter of folder $1 into this folder: with the grpc-go of its go.mod, or version $2.
set -eu
cp "$1"/*.go .
if grep -q "google.golang.org/grpc v$2\$" "$1/go.mod"; then
    cp "$1/go.mod" "$1/go.sum" .
else
    go mod init xdspec/adapter
    go get "google.golang.org/grpc@v$2"
    go mod tidy
fi
go build -trimpath -ldflags='-s -w' -o adapter .
