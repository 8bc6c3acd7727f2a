#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Breaks each operator of the packages that are named, one at a time, and runs the tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
(cd internal/tools && go build -o ../../bin/gremlins github.com/go-gremlins/gremlins/cmd/gremlins)
export PATH="$PWD/internal/tools/mutate/bin:$PATH"
for package in "$@"; do
	echo "mutate $package"
	bin/gremlins unleash --config internal/tools/mutate/gremlins.yaml --output-statuses ltv "./$package"
done
