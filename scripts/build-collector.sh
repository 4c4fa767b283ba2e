#!/usr/bin/env bash
# Prints the path of the OpenTelemetry Collector that collector/builder-config.yaml describes, building it first where it
# is not there yet. Needs Go; the module proxy is asked on a first build only.
#
# The binary stands in $XDG_CACHE_HOME/mcp-observatory (~/.cache by default) under a hash of the manifest, so that a
# changed manifest builds anew and an old checkout still finds its own.
set -euo pipefail

manifest=$(cd "$(dirname "$0")/../collector" && pwd)/builder-config.yaml
release=$(sed -n 's/^  version: *//p' "$manifest")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-observatory
folder=$cache/otelcol-$(sha256sum "$manifest" | cut -c1-16)
binary=$folder/$(sed -n 's/^  name: *//p' "$manifest")

if [ -x "$binary" ]; then
  echo "$binary"
  exit
fi
if ! command -v go >/dev/null; then
  echo "Go is not installed, and no Collector is built at $binary" >&2
  exit 1
fi

# Two at once would fight over the folder; the second finds the work done.
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
if [ ! -x "$binary" ]; then
  export GOFLAGS="-p=${BUILD_JOBS:-2} -buildvcs=false" CGO_ENABLED=0
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  {
    GOBIN=$work go install "go.opentelemetry.io/collector/cmd/builder@v$release"
    (cd "$work" && ./builder --config "$manifest" --skip-compilation)
    (cd "$work/build" && go build -trimpath -ldflags='-s -w' -o "$work/collector" .)
    mv "$work/collector" "$binary.new"
    mv "$binary.new" "$binary"
  } >&2
fi
echo "$binary"
