#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Tests the packages with each version of client-go that is named, such as v0.35.10.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p bin
mapfile -t packages < <(go list ./... | grep -v -e /examples/ -e /internal/repotest)
for version in "$@"; do
	echo "client-go $version"
	mod=bin/client-go-$version.mod
	cp go.mod "$mod"
	cp go.sum "${mod%mod}sum"
	go get -modfile="$mod" "k8s.io/api@$version" "k8s.io/apimachinery@$version" "k8s.io/client-go@$version"
	go mod tidy -modfile="$mod"
	go test -modfile="$mod" "${packages[@]}"
done
