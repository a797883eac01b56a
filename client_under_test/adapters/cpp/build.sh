#!/bin/sh
# Builds the adapter of folder $1 into this folder, against the grpc++ that pkg-config finds, which must be $2.
# CXX, CXXFLAGS, LDFLAGS and PKG_CONFIG_PATH are heeded: a grpc++ in a prefix of its own will do.
set -eu
found=$(pkg-config --modversion grpc++)
if [ "$found" != "$2" ]; then
    echo "pkg-config finds grpc++ $found here: name it, as in cpp@$found" >&2
    exit 1
fi
${CXX:-c++} -std=c++17 -O1 -g -Wno-deprecated-declarations ${CXXFLAGS:-} $(pkg-config --cflags grpc++) \
    -MD -MF headers.d -Wl,--trace -o adapter "$1/adapter.cc" $(pkg-config --libs grpc++) -pthread ${LDFLAGS:-} >linked.txt
# The headers and libraries that this read: another grpc++ of the same version asks for another build.
{
    tr ' \\' '\n\n' <headers.d
    sed 's/^(\(.*\)).*/\1/' linked.txt
} | grep '^/' | grep -v '^/tmp/' | sort -u >inputs.txt
rm headers.d linked.txt
