#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the end-to-end tests on each minor version of Kubernetes that is named, such as 1.34. The other suites need no older API server
# (prometheus, dashboards) or pin a version (chart, rollout).
set -euo pipefail
cd "$(dirname "$0")/../.."
for version in "$@"; do
	export CONTROLLERKIT_KUBERNETES=$version
	unset KUBEBUILDER_ASSETS # its programs have another version
	echo "Kubernetes v$version"
	(cd internal/controlplane && nice go run ./cmd/build kubectl && go test -count=1 -run '^TestProgramsCarryTheirRealVersion$' .)
	(cd internal/e2e && go test -race -count=1 -timeout 20m . ./status ./events ./jobgc ./chaos)
done
