#!/bin/sh
# Starts the adapter that was built in folder $1: warm, if Node.js is still the one that warmed it.
unset NODE_EXTRA_CA_CERTS # has every root certificate read at the start; no channel of the suite has TLS
if [ "$(ls -lL "$(command -v node)")" = "$(cat "$1/warm.node" 2>/dev/null)" ]; then
    exec node $(grep -v '^#' "$1/node.options") --snapshot-blob "$1/warm.blob" "$1/adapter.js"
fi
exec node "$1/adapter.js"
