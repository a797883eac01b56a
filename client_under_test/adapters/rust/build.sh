#!/bin/sh
# Builds the adapter of folder $1 into this folder, with tonic-xds $2.
set -eu
cp "$1/adapter.rs" .
sed "s/^\(tonic-xds\|xds-client\) = \"[^\"]*\"/\1 = \"=$2\"/" "$1/Cargo.toml" >Cargo.toml
TONIC_XDS_VERSION=$2 cargo build --release --quiet
mv target/release/adapter .
rm -r target
