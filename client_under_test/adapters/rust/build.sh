#!/bin/sh
# Builds the adapter of folder $1 into this folder, with tonic-xds $2.
# With $3, the Python $4 and the folder $5: with the crates in $3; what else was compiled stays in $5.
set -eu
cp "$1/adapter.rs" .
export TONIC_XDS_VERSION="$2" CARGO_TARGET_DIR="$PWD/target"
if [ $# -gt 2 ]; then
    "$4" -I "$1/inspect_source.py" "$3" Cargo.toml
    CARGO_TARGET_DIR=$5/target
    cargo generate-lockfile --quiet
    for crate in tonic-xds xds-client; do
        case $(cargo pkgid "$crate") in
        path+*) cargo clean --quiet --release --package "$crate" ;; # cargo compares times, not content
        *) [ "$crate" != tonic-xds ] || { echo "cargo does not take tonic-xds from $3" >&2; exit 1; } ;;
        esac
    done
else
    sed "s/^\(tonic-xds\|xds-client\) = \"[^\"]*\"/\1 = \"=$2\"/" "$1/Cargo.toml" >Cargo.toml
fi
cargo build --release --quiet
mv "$CARGO_TARGET_DIR/release/adapter" .
rm -rf target source
