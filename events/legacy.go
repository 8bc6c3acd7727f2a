// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/internal/caller"
)

// A LegacyRecorder records to a [Recorder] with the methods of
// k8s.io/client-go/tools/record EventRecorder, which leader election and older
// code ask for. The reason is the action as well, since events.k8s.io requires
// one. It is safe for concurrent use. A nil *LegacyRecorder records nothing.
type LegacyRecorder Recorder

// Legacy returns r with the methods of tools/record. Both share everything:
// caps, series and counts.
func (r *Recorder) Legacy() *LegacyRecorder { return (*LegacyRecorder)(r) }

// Event records message, which is not a format.
func (l *LegacyRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	(*Recorder)(l).record(&call{regarding: object, eventtype: eventtype, reason: reason}, message)
}

// Eventf is [Recorder.Eventf] without a related object.
func (l *LegacyRecorder) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	l.AnnotatedEventf(object, nil, eventtype, reason, messageFmt, args...)
}

// AnnotatedEventf is Eventf with annotations on the Event. A repeat does not
// add its annotations. Their values are cleaned as notes are: redacted, on one
// line, at most 1024 bytes. An event with more than 8 annotations, or with a key
// that the API server refuses, is counted as LostRejected.
func (l *LegacyRecorder) AnnotatedEventf(
	object runtime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any,
) {
	r := (*Recorder)(l)
	if r.off() {
		return
	}
	c := call{regarding: object, annotations: annotations, eventtype: eventtype, reason: reason}
	r.record(&c, caller.Notef(messageFmt, args...))
}
