#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs each fuzz target of the root module for a time such as 30s, or a number of times such as 200x. A target that fails does not stop
# the others. It minimizes by a number of runs: by time, the go command reports a target with slow runs as hung.
set -euo pipefail
cd "$(dirname "$0")/../.."
time=$1 failed=0
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "fuzz $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x "$package" || failed=1
	done
done
exit $failed
