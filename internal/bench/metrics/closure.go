// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"

	"github.com/proompteng/controllerkit/internal/bench"
)

// closures count the non-standard packages that an import compiles, without the
// imported package.
func closures(ctx context.Context) []bench.Measure {
	count := func(name, path string) bench.Subject {
		return bench.Subject{Name: name, Count: func() (float64, error) { return closure(ctx, path) }}
	}
	theirs := []bench.Subject{count(ctrlRuntime, "sigs.k8s.io/controller-runtime/pkg/metrics")}
	const unit = "packages"
	return []bench.Measure{
		{
			Name: "import of metrics", Unit: unit, Ours: count("", "github.com/proompteng/controllerkit/metrics"), Peers: theirs,
			Gates: []bench.Gate{{Unit: unit, Limit: "<= 15"}},
		},
		{
			Name: "import of metrics/prom", Unit: unit, Ours: count("", "github.com/proompteng/controllerkit/metrics/prom"), Peers: theirs,
			Gates: []bench.Gate{{Unit: unit, Limit: "<= 110"}},
		},
	}
}

func closure(ctx context.Context, path string) (float64, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{if not .Standard}}x{{end}}", path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return float64(bytes.Count(out, []byte("x")) - 1), err
}
