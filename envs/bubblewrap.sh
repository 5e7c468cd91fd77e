#!/bin/sh
# Makes sure that bubblewrap, the sandbox of agents and graders, is there. On Debian and Ubuntu it is fetched without root into .venv/bin.
set -eu
command -v bwrap >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y -qq bubblewrap >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; }
elif command -v apt-get >/dev/null; then
    folder=$(mktemp -d)
    trap 'rm -r "$folder"' EXIT
    (cd "$folder" && apt-get download -qq bubblewrap && dpkg -x bubblewrap_*.deb .) && install -m 755 "$folder/usr/bin/bwrap" .venv/bin/bwrap
fi
command -v bwrap >/dev/null || { echo "error: bubblewrap (bwrap) is missing and could not be installed; install your system's bubblewrap package" >&2; exit 2; }
