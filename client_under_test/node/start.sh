#!/bin/sh
# Starts the adapter that was built in folder $1: warm, if Node.js is still the one that warmed it.
if [ "$(ls -lL "$(command -v node)")" = "$(cat "$1/warm.node" 2>/dev/null)" ]; then
    exec node --snapshot-blob "$1/warm.blob" "$1/adapter.js"
fi
exec node "$1/adapter.js"
