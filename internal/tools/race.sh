#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs go test -race with the arguments. The race detector of Go 1.26 sometimes crashes in tests with testing/synctest,
# about once in twenty runs (https://go.dev/issue/78156). If it did and no test failed, this runs the command once more:
# the go command runs again only what did not pass.
set -euo pipefail
output=$(mktemp)
trap 'rm -f "$output"' EXIT
if go test -race "$@" 2>&1 | tee "$output"; then
	exit 0
fi
if grep -qE -e '^ *--- FAIL' -e 'DATA RACE' -e '\[(build|setup) failed\]' -e '^panic: ' "$output"; then
	exit 1
fi
grep -q 'ThreadSanitizer: CHECK failed' "$output" || exit 1
echo "The race detector crashed; once more."
go test -race "$@"
