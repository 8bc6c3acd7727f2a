#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs make unit and make e2e until the log holds N runs of each of this commit, and adds a line to the log after each. It may be ended
# and started again at any time: what is in the log is not run anew. It fails if a run did, and leaves what that printed in bin.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=$1
log=internal/docs/stability.tsv

commit=$(git rev-parse --short=10 HEAD)
git diff --quiet HEAD -- . ":!$log" || commit+=-dirty
have() { awk -F '\t' -v commit="$commit" -v what="$1" '$2 == commit && $3 == what' "$log" | wc -l; }

[ -e "$log" ] || printf 'date\tcommit\twhat\tseconds\tload\tresult\n' >"$log"
failed=0
mkdir -p bin
for ((run = 1; run <= runs; run++)); do
	for what in ${WHAT:-unit e2e}; do
		[ "$(have "$what")" -lt "$run" ] || continue
		date=$(date -u +%Y-%m-%dT%H:%M:%SZ) output=bin/stability-$what.log from=$SECONDS result=ok
		read -r load _ </proc/loadavg # of others: who reads the seconds wants to know
		if ! make --no-print-directory "$what" >"$output" 2>&1; then
			failed=1
			# The tests, else the packages, else that make failed before there was any.
			result=$(sed -nE 's/^ *--- FAIL: ([^ ]+).*/\1/p' "$output" | sort -u | paste -sd' ')
			[ -n "$result" ] || result=$(sed -nE 's/^FAIL[[:space:]]+([^ [:space:]]+).*/\1/p' "$output" | sort -u | paste -sd' ')
			mv "$output" "bin/stability-$what-$date.log"
		fi
		printf '%s\t%s\t%s\t%d\t%s\t%s\n' "$date" "$commit" "$what" $((SECONDS - from)) "$load" "${result:-make}" | tee -a "$log"
	done
done
exit $failed
