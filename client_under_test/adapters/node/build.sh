#!/bin/sh
# Puts the adapter of folder $1 and its packages here: those of its lock file, or grpc-js-xds $2.
# With $3 and the Python $4, the packages in $3 take the place of the released ones.
set -eu
cp "$1/adapter.js" "$1/policy.js" "$1/warm.js" "$1/node.options" .
install() {
    npm install --ignore-scripts --no-audit --no-fund "$@"
}
if grep -q "\"@grpc/grpc-js-xds\": \"$2\"" "$1/package.json"; then
    cp "$1/package.json" "$1/package-lock.json" .
    [ $# -gt 2 ] || npm ci --ignore-scripts --no-audit --no-fund
else
    echo '{ "private": true }' >package.json
    [ $# -gt 2 ] || install "@grpc/grpc-js-xds@$2"
fi
if [ $# -gt 2 ]; then
    mkdir packed
    "$4" -I "$1/inspect_source.py" "$3" packed
    cd packed
    for package in grpc-js grpc-js-xds; do
        # Scripts of a package may write into its folder, so none runs. The plain name is for links, too.
        [ ! -d "$package" ] || mv "$(npm pack --ignore-scripts --silent "./$package/")" "$package.tgz"
    done
    cd ..
    if [ -f packed/grpc-js-xds.tgz ]; then
        install ./packed/*.tgz
    else
        install ./packed/grpc-js.tgz "@grpc/grpc-js-xds@$2"
    fi
    rm -r packed
fi
# A Node.js that cannot do this starts the adapter the plain way.
if node warm.js && node $(grep -v '^#' node.options) --no-warnings --snapshot-blob warm.blob --build-snapshot warm.js; then
    ls -lL "$(command -v node)" >warm.node
fi
