#!/bin/sh
# Builds the adapter of folder $1 into this folder, against the grpc++ that pkg-config finds, which must be $2.
# CXX, CXXFLAGS, LDFLAGS and PKG_CONFIG_PATH are heeded: a grpc++ in a prefix of its own will do.
# With $3, against the grpc++ of that prefix; the shared libraries of it are copied.
set -eu
flags=
if [ $# -gt 2 ]; then
    # By a link: then no path with a space or a colon stands in what pkg-config prints.
    ln -s "$3" prefix
    for folder in prefix/lib prefix/lib64 prefix/lib/*-*-* prefix/share; do
        [ -d "$folder/pkgconfig" ] || continue
        PKG_CONFIG_PATH=$folder/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
        libraries=$folder${libraries:+:$libraries}
        link="${link:-} -Wl,-rpath-link,$folder"
    done
    export PKG_CONFIG_PATH
    flags=--define-variable=prefix=prefix
    [ -n "$(find prefix/lib*/ -name libgrpc++.so)" ] || flags="$flags --static"
    link="$link -Wl,-rpath,\$ORIGIN/lib -Wl,--disable-new-dtags"
fi
found=$(pkg-config $flags --modversion grpc++)
if [ "$found" != "$2" ]; then
    echo "pkg-config finds grpc++ $found here: name it, as in cpp@$found" >&2
    exit 1
fi
${CXX:-c++} -std=c++17 -O1 -g -Wno-deprecated-declarations ${CXXFLAGS:-} $(pkg-config $flags --cflags grpc++) \
    -MD -MF headers.d -Wl,--trace -o adapter "$1/adapter.cc" $(pkg-config $flags --libs grpc++) -pthread ${LDFLAGS:-} ${link:-} >linked.txt
# The headers and libraries that this read: another grpc++ of the same version asks for another build.
{
    tr ' \\' '\n\n' <headers.d
    sed 's/^(\(.*\)).*/\1/' linked.txt
} | grep '^/' | grep -v '^/tmp/' | sort -u >inputs.txt
rm headers.d linked.txt
if [ $# -gt 2 ]; then
    mkdir lib
    LD_LIBRARY_PATH=$libraries ldd adapter | sed -n 's|^.* => \(prefix/.*\) (0x.*|\1|p' | while read -r library; do
        cp -L "$library" lib
    done
    rm prefix
fi
