// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !skew

package eventstest_test

import (
	clientevents "k8s.io/client-go/tools/events"

	"github.com/proompteng/controllerkit/events/eventstest"
)

// The interface is younger than the oldest client-go that `make skew` tries.
var _ clientevents.AnnotatedEventRecorder = (*eventstest.Recorder)(nil)
