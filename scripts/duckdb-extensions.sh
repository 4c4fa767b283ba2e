#!/usr/bin/env bash
# Prints a folder to be used as HOME, in which DuckDB finds its extension httpfs, from the package of that name on PyPI.
# It stands in $XDG_CACHE_HOME/mcp-observatory (~/.cache by default), under its version.
set -euo pipefail

version=1.5.5
folder=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-observatory/duckdb-$version
target=$folder/.duckdb/extensions/v$version/linux_amd64

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
if [ ! -e "$target/httpfs.duckdb_extension" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  {
    python3 -m pip download --quiet --no-deps --disable-pip-version-check --dest "$work" "duckdb-extension-httpfs==$version"
    python3 -m zipfile -e "$work"/*.whl "$work"
    mkdir -p "$target"
    mv "$work/duckdb_extension_httpfs/extensions/v$version/httpfs.duckdb_extension" "$target/"
  } >&2
fi
echo "$folder"
