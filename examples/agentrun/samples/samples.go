// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samples holds AgentRuns to try. Each file says in its annotations how
// its run ends.
package samples

import "embed"

// Files are the samples, by the names of their files.
//
//go:embed *.yaml
var Files embed.FS
