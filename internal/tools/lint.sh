#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds golangci-lint and runs it in each module that is named. The root is checked with the newest versions.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
(cd internal/tools/lint && go build -o "$root/bin/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
failed=0
for module in "$@"; do
	echo "lint $module"
	work=off
	[ "$module" != . ] || work=$root/internal/compat/newest.work
	(cd "$module" && GOWORK=$work "$root/bin/golangci-lint" run --config "$root/.golangci.yml" ./...) || failed=1
done
exit $failed
