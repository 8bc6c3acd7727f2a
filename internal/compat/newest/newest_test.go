// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package newest_test is a module that requires the newest version of each
// module that the packages use, where the root's go.mod requires the lowest.
// `make test` runs the tests of the packages from here.
package newest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/proompteng/controllerkit/events"
	_ "github.com/proompteng/controllerkit/events/eventstest"
	_ "github.com/proompteng/controllerkit/events/redact"
	_ "github.com/proompteng/controllerkit/jobgc"
	_ "github.com/proompteng/controllerkit/jobgc/expire"
	_ "github.com/proompteng/controllerkit/jobgc/settings"
	_ "github.com/proompteng/controllerkit/metrics"
	_ "github.com/proompteng/controllerkit/metrics/kube"
	_ "github.com/proompteng/controllerkit/metrics/mixin"
	_ "github.com/proompteng/controllerkit/metrics/prom"
	_ "github.com/proompteng/controllerkit/metrics/tracelog"
	_ "github.com/proompteng/controllerkit/rollout"
	_ "github.com/proompteng/controllerkit/rollout/plan"
	_ "github.com/proompteng/controllerkit/status"
	_ "github.com/proompteng/controllerkit/status/applyconfiguration"
	_ "github.com/proompteng/controllerkit/status/rules"
	_ "github.com/proompteng/controllerkit/status/statustest"
)

// The unit tests of the packages use it.
var _ require.TestingT = (*testing.T)(nil)
