#!/usr/bin/env bash
# Prints the path of a Python with the packages of test/fixtures/NAME/requirements.txt, or of test/fixtures/NAME.txt (NAME
# is `python` without an argument), making it first where it is not there yet: a virtual environment in
# $XDG_CACHE_HOME/mcp-observatory (~/.cache by default), under a hash of the list. Lists in a file of their own are long,
# so uv installs them.
set -euo pipefail

fixtures=$(cd "$(dirname "$0")/../test/fixtures" && pwd)
name=${1:-python}
requirements=$fixtures/$name.txt
[ -e "$requirements" ] || requirements=$fixtures/$name/requirements.txt
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-observatory
folder=$cache/python-$(sha256sum "$requirements" | cut -c1-16)
uv=$cache/uv-0.13.9

install() { "$1/bin/pip" install --quiet --no-input --disable-pip-version-check "${@:2}"; }

mkdir -p "$cache"
exec 9>"$folder.lock"
flock 9
if [ ! -e "$folder/complete" ]; then
  rm -rf "$folder"
  {
    python3 -m venv "$folder"
    if [ "$requirements" = "$fixtures/$name.txt" ]; then
      exec 8>"$uv.lock"
      flock 8
      [ -e "$uv/bin/uv" ] || { rm -rf "$uv" && python3 -m venv "$uv" && install "$uv" "uv==${uv##*-}"; }
      flock -u 8
      UV_CACHE_DIR=$cache/uv-cache "$uv/bin/uv" pip install --quiet --python "$folder/bin/python" --requirement "$requirements"
    else
      install "$folder" --requirement "$requirements"
    fi
    touch "$folder/complete"
  } >&2
fi
echo "$folder/bin/python"
