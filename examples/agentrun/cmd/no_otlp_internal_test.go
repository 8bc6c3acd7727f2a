// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !otlp

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheDefaultProgramLinksNoExporter: the exporters and gRPC are in the
// program that is built with -tags=otlp, and in no other.
func TestTheDefaultProgramLinksNoExporter(t *testing.T) {
	for _, tags := range []string{"", "otlp"} {
		list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags="+tags, ".").Output()
		require.NoError(t, err)
		for _, part := range []string{"otel/sdk/trace", "/exporters/autoexport", "/exporters/otlp/", "google.golang.org/grpc", "go.opentelemetry.io/proto/otlp"} {
			assert.Equal(t, tags == "otlp", strings.Contains(string(list), part), "-tags=%s: %s", tags, part)
		}
	}
}

func TestTheDefaultProgramSaysThatItCannotSend(t *testing.T) {
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"} {
		_, err := newTelemetry(t.Context(), environ(name+"=otlp"))
		require.ErrorContains(t, err, name+"=otlp: this program cannot send; build it with -tags=otlp")
	}
}
