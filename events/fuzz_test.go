// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events"
)

// For any input the recorder does not panic, sends only valid Events and counts
// each occurrence.
func FuzzRecord(f *testing.F) {
	f.Add("run-1", "StepFailed", "Run", "step %d failed", "Warning", "agents.example.com/agentrun")
	f.Add("", "", "", "", "", "")
	f.Add("system:node", "R", "", strings.Repeat("é", 600), "Normal", "a")
	f.Add(strings.Repeat("a.", 127), strings.Repeat("x", 128), strings.Repeat("é", 64), "%s%%%!", "Normal", "x/y")
	f.Add("-.-", "\xff", "\x00", "\xff\n\u202e", "Normal", "UPPER_case.v1")
	f.Fuzz(func(t *testing.T, name, reason, action, note, eventtype, by string) {
		s := &server{}
		rec, err := events.New(s.sink(), by, events.Options{Instance: note, WritesPerMinute: 100, TotalWritesPerSecond: 1e6})
		if err != nil {
			require.Nil(t, rec)
			return
		}
		ref := &corev1.ObjectReference{Kind: "ConfigMap", Namespace: "runs", Name: name, FieldPath: action}
		for _, call := range []func(){
			func() { rec.Eventf(ref, ref, eventtype, reason, action, note, []any{}...) },
			func() {
				rec.Legacy().AnnotatedEventf(ref, map[string]string{"k": note}, eventtype, reason, note, name)
			},
			func() { rec.Legacy().Event(ref, eventtype, reason, note) },
			func() { rec.FailureReason(ref, reason, errors.New(note)) },
			func() { rec.Failure(ref, nil) },
			func() { err = rec.Flush(t.Context()) },
		} {
			call()
			require.Empty(t, events.Unbalanced(rec))
		}
		require.NoError(t, err)
		require.Empty(t, s.invalid)
		st := rec.Stats()
		require.Zero(t, st.Pending)
		delete(st.Lost, events.LostRejected) // only an Event that every API server refuses may be lost
		require.Empty(t, st.Lost)
	})
}
