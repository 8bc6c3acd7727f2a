#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs go test -race with the arguments. The race detector of Go 1.26 sometimes crashes in tests with testing/synctest,
# when two threads run timers of one bubble at once (https://go.dev/issue/78156). If it did and no test failed, this runs
# the command once more, on one processor, where it cannot: the go command runs again only what did not pass.
set -euo pipefail
output=$(mktemp)
trap 'rm -f "$output"' EXIT
if go test -race "$@" 2>&1 | tee "$output"; then
	exit 0
fi
if grep -qE -e '^ *--- FAIL' -e 'DATA RACE' -e '\[(build|setup) failed\]' -e '^panic: ' "$output"; then
	exit 1
fi
grep -qF -e 'ThreadSanitizer: CHECK failed' -e 'runtime.(*timer).maybeRunChan' "$output" || exit 1
echo "The race detector crashed; once more, on one processor."
GOMAXPROCS=1 go test -race "$@"
