#!/usr/bin/env bash
# Prints the path of the S3 server of the tests (Versity S3 Gateway, over a folder), building it first where it is not
# there yet. Needs Go; the module proxy is asked on a first build only. It stands in $XDG_CACHE_HOME/mcp-observatory
# (~/.cache by default), under its version.
set -euo pipefail

version=v1.8.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-observatory/versitygw-$version
binary=$folder/versitygw

if [ -x "$binary" ]; then
  echo "$binary"
  exit
fi
if ! command -v go >/dev/null; then
  echo "Go is not installed, and no S3 server is built at $binary" >&2
  exit 1
fi

# Two at once would do the work twice.
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
if [ ! -x "$binary" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  export GOFLAGS="-p=${BUILD_JOBS:-2} -buildvcs=false" CGO_ENABLED=0 GOBIN=$work
  {
    go install -trimpath -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@$version"
    mv "$work/versitygw" "$binary.new"
    mv "$binary.new" "$binary"
  } >&2
fi
echo "$binary"
