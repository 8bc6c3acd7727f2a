// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstest

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events/internal/caller"
)

// A LegacyRecorder records to a [Recorder] with the methods of
// k8s.io/client-go/tools/record EventRecorder. It is safe for concurrent use. A
// nil *LegacyRecorder records nothing.
type LegacyRecorder struct {
	r *Recorder
}

// Legacy returns r with the methods of tools/record. The reason is the action
// as well.
func (r *Recorder) Legacy() *LegacyRecorder { return &LegacyRecorder{r} }

// Event adds an entry with message, which is not a format.
func (l *LegacyRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	if l != nil {
		l.r.add(Entry{Regarding: object, Type: eventtype, Reason: reason, Note: message})
	}
}

// Eventf adds an entry with a formatted message.
func (l *LegacyRecorder) Eventf(
	object runtime.Object,
	eventtype, reason, messageFmt string,
	args ...any,
) {
	if l != nil {
		l.r.Eventf(object, nil, eventtype, reason, "", messageFmt, args...)
	}
}

// AnnotatedEventf is Eventf with annotations.
func (l *LegacyRecorder) AnnotatedEventf(
	object runtime.Object,
	annotations map[string]string,
	eventtype, reason, messageFmt string,
	args ...any,
) {
	if l != nil {
		l.r.add(Entry{
			Regarding:   object,
			Annotations: annotations,
			Type:        eventtype,
			Reason:      reason,
			Note:        caller.Notef(messageFmt, args...),
		})
	}
}
