#!/bin/sh
# Builds the adapter of folder $1 in this folder.
set -eu
cp -R "$1/Cargo.toml" "$1/src" .
cargo build --release --quiet
