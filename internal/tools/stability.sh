#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs make race and make e2e until the last N runs of each in the log were right, but at most N times, and adds a line to the log after
# each. They may be of different commits, which the log names: N runs of both take hours, and it may be ended and started again at any
# time. A run that fails begins the count anew. The script fails if a run did, and leaves what that printed in bin.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=$1 whats=${WHAT:-race e2e}
unset WHAT # no setting of what is run
export SHUFFLE=-shuffle=on # nothing is taken from the cache of results
log=internal/docs/stability.tsv

commit=$(git rev-parse --short=10 HEAD)
if ! git diff --quiet HEAD -- . ":!$log"; then
	echo "stability: there are changes that are in no commit; commit them first, for the log names what was run" >&2
	exit 2
fi
row() { awk -F '\t' -v what="$1" '$3 == what { n = $6 == "ok" ? n + 1 : 0 } END { print n + 0 }' "$log"; }

[ -e "$log" ] || printf 'date\tcommit\twhat\tseconds\tload\tresult\n' >"$log"
failed=0
mkdir -p bin
for ((turn = 0; turn < runs; turn++)); do
	for what in $whats; do
		[ "$(row "$what")" -lt "$runs" ] || continue
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
