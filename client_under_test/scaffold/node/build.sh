#!/bin/sh
# Puts the adapter of folder $1 and the packages that it asks for into this folder.
set -eu
cp "$1"/*.js "$1"/package*.json .
npm install --ignore-scripts --no-audit --no-fund --no-update-notifier
