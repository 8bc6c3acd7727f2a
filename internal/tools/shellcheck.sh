#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the folder that has the program shellcheck: that of PATH, or a cache outside the repository with Debian's package unpacked, not
# installed. The cache is CONTROLLERKIT_CACHE, or controllerkit in the user's cache folder.
set -euo pipefail
if program=$(command -v shellcheck); then
	dirname "$program"
	exit
fi
cache=${CONTROLLERKIT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/controllerkit}/shellcheck
if ! [ -x "$cache/usr/bin/shellcheck" ]; then
	mkdir -p "$(dirname "$cache")"
	temp=$(mktemp -d -p "$(dirname "$cache")")
	trap 'rm -rf "$temp"' EXIT
	cd "$temp"
	# A fresh machine has no package lists.
	apt-get download shellcheck >&2 || { apt-get update >&2 && apt-get download shellcheck >&2; }
	dpkg -x shellcheck_*.deb tree
	[ -x tree/usr/bin/shellcheck ] || { echo "shellcheck: the package has no usr/bin/shellcheck" >&2 && exit 1; }
	mv -T tree "$cache" || [ -x "$cache/usr/bin/shellcheck" ] # another run was faster
fi
echo "$cache/usr/bin"
