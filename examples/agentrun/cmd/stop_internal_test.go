// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/proompteng/controllerkit/examples/agentrun/controller"
)

// TestStop_FitsIntoTheGraceOfThePod: the recorder writes when the manager has
// stopped, and then the telemetry is sent, so the times add up.
func TestStop_FitsIntoTheGraceOfThePod(t *testing.T) {
	var options ctrl.Options
	stopInTime(&options)
	const pod = 30 * time.Second // terminationGracePeriodSeconds by default
	assert.Less(t, *options.GracefulShutdownTimeout+controller.DrainTimeout+shutdownTimeout, pod)
	assert.True(t, options.LeaderElectionReleaseOnCancel, "the next leader does not wait for the lease to end")
}
