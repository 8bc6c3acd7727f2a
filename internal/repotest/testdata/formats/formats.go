// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package formats has a wrong format in each line with %d.
package formats

import (
	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/eventstest"
)

func wrong(r *events.Recorder, l *events.LegacyRecorder, tr *eventstest.Recorder, tl *eventstest.LegacyRecorder) {
	r.Eventf(nil, nil, "Normal", "Reason", "Action", "%d", "text")
	l.Eventf(nil, "Normal", "Reason", "%d", "text")
	l.AnnotatedEventf(nil, nil, "Normal", "Reason", "%d", "text")
	tr.Eventf(nil, nil, "Normal", "Reason", "Action", "%d", "text")
	tl.Eventf(nil, "Normal", "Reason", "%d", "text")
	tl.AnnotatedEventf(nil, nil, "Normal", "Reason", "%d", "text")
}
