// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package newest_test is a module that requires the newest version of each
// module that the packages use, where the root's go.mod requires the lowest.
// `make test` runs the tests of the packages from here.
package newest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	clientevents "k8s.io/client-go/tools/events"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/eventstest"
	_ "github.com/proompteng/controllerkit/events/redact"
	_ "github.com/proompteng/controllerkit/jobgc"
	_ "github.com/proompteng/controllerkit/jobgc/expire"
	_ "github.com/proompteng/controllerkit/jobgc/hold"
	_ "github.com/proompteng/controllerkit/jobgc/settings"
	_ "github.com/proompteng/controllerkit/metrics"
	_ "github.com/proompteng/controllerkit/metrics/kube"
	_ "github.com/proompteng/controllerkit/metrics/manifest"
	_ "github.com/proompteng/controllerkit/metrics/prom"
	_ "github.com/proompteng/controllerkit/metrics/tracelog"
	_ "github.com/proompteng/controllerkit/rollout"
	_ "github.com/proompteng/controllerkit/rollout/live"
	_ "github.com/proompteng/controllerkit/rollout/plan"
	_ "github.com/proompteng/controllerkit/rollout/settings"
	_ "github.com/proompteng/controllerkit/status"
	_ "github.com/proompteng/controllerkit/status/applyconfiguration"
	_ "github.com/proompteng/controllerkit/status/rules"
	_ "github.com/proompteng/controllerkit/status/statustest"
)

// What the client-go of the root's go.mod does not have yet.
var (
	_ clientevents.AnnotatedEventRecorder = (*events.Recorder)(nil)
	_ clientevents.AnnotatedEventRecorder = (*eventstest.Recorder)(nil)
)

// TestVersions_AreTheNewest fails where make test would test what make
// test-floor has tested, or versions older than the end-to-end tests have.
func TestVersions_AreTheNewest(t *testing.T) {
	here, lowest := requires(t, "go.mod"), requires(t, filepath.Join("..", "..", "..", "go.mod"))
	newest := requires(t, filepath.Join("..", "..", "e2e", "go.mod"))
	for _, path := range []string{
		"github.com/prometheus/client_golang", "github.com/stretchr/testify", "go.opentelemetry.io/otel", "golang.org/x/time",
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go",
	} {
		require.Contains(t, here, path)
		assert.NotEqual(t, lowest[path], here[path], "%s in go.mod of the root", path)
		assert.Equal(t, newest[path], here[path], "%s in internal/e2e/go.mod", path)
	}
}

// requires are the versions in a go.mod by module path.
func requires(t *testing.T, name string) map[string]string {
	t.Helper()
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(body), -1) {
		out[m[1]] = m[2]
	}
	return out
}
