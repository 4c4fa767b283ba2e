#!/usr/bin/env bash
# Prints the path of a Python with the packages of test/fixtures/NAME/requirements.txt (NAME is `python` without an
# argument), making it first where it is not there yet: a virtual environment in $XDG_CACHE_HOME/mcp-observatory (~/.cache
# by default), under a hash of the list.
set -euo pipefail

requirements=$(cd "$(dirname "$0")/../test/fixtures/${1:-python}" && pwd)/requirements.txt
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-observatory
folder=$cache/python-$(sha256sum "$requirements" | cut -c1-16)

mkdir -p "$cache"
exec 9>"$folder.lock"
flock 9
if [ ! -e "$folder/complete" ]; then
  rm -rf "$folder"
  {
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --requirement "$requirements"
    touch "$folder/complete"
  } >&2
fi
echo "$folder/bin/python"
