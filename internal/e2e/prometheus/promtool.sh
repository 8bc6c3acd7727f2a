#!/bin/sh
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the path of promtool: in PATH, or in a cache, CONTROLLERKIT_CACHE or controllerkit in the user's cache folder.
# If it is not there, it downloads Debian's packages and unpacks them, without an installation. That needs apt-get and
# dpkg, and root only if apt has no package lists yet. The cache's folder appears only when it is complete.
set -eu
if command -v promtool; then
	exit
fi
cache=${CONTROLLERKIT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/controllerkit}
mkdir -p "$cache"
cd "$cache"
cache=$PWD/prometheus
exec 9>prometheus.lock && flock 9 # apt-get update does not wait for another one
if ! [ -e "$cache" ]; then
	temp=$(mktemp -d -p "$PWD")
	trap 'rm -rf "$temp"' EXIT
	cd "$temp"
	# A fresh machine has no package lists.
	apt-get download prometheus >&2 || { apt-get update >&2 && apt-get download prometheus >&2; }
	dpkg -x prometheus_*.deb tree >&2
	if ! [ -e tree/usr/bin/promtool ]; then # newer Debian has it in a package of that name
		apt-get download promtool >&2
		dpkg -x promtool_*.deb tree >&2
	fi
	[ -x tree/usr/bin/promtool ] || { echo "the package has no usr/bin/promtool" >&2 && exit 1; }
	mv -T tree "$cache"
fi
echo "$cache/usr/bin/promtool"
