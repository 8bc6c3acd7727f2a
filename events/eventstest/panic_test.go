// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/eventstest"
)

// embedded is an object of a caller whose embedded pointer may be nil.
type embedded struct{ *corev1.ConfigMap }

// brokenError is an error whose embedded pointer is nil.
type brokenError struct{ *apierrors.StatusError }

// nestedError panics with itself, so fmt cannot print it.
type nestedError struct{}

func (e nestedError) Error() string { panic(e) }
func (e nestedError) Unwrap() error { panic(e) }

// kinds is a scheme.
type kinds func() ([]schema.GroupVersionKind, bool, error)

func (k kinds) ObjectKinds(runtime.Object) ([]schema.GroupVersionKind, bool, error) { return k() }

// within fails the test if f does not return: it waits for a lock.
func within(t *testing.T, f func()) {
	t.Helper()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		f()
	}()
	select {
	case <-returned:
	case <-time.After(30 * time.Second):
		t.Fatal("the call waits for a lock forever")
	}
}

// A reconcile under test fails no other way than in a cluster.
func TestRecorder_SurvivesCodeThatPanics(t *testing.T) {
	nameless := object("a")
	nameless.Kind = ""
	for name, tc := range map[string]struct {
		reason string
		object runtime.Object
		scheme kinds
		err    error
		lost   string
	}{
		"EmbeddedNil":   {"A pointer that was never set has no metadata.", embedded{}, nil, assert.AnError, events.LostNoReference},
		"Scheme":        {"A scheme is the caller's code.", nameless, func() ([]schema.GroupVersionKind, bool, error) { panic("no kind") }, assert.AnError, events.LostNoReference},
		"EmbeddedError": {"An error may panic.", object("a"), nil, brokenError{}, ""},
		"NestedError":   {"The text of an error may panic.", object("a"), nil, nestedError{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var rec eventstest.Recorder
			if tc.scheme != nil {
				rec.Scheme = tc.scheme
			}
			calls := []func(){
				func() { rec.Failure(tc.object, tc.err) },
				func() { rec.FailureReason(tc.object, "Own", tc.err) },
				func() { rec.Eventf(tc.object, nil, "Normal", "A", "", "%v", tc.err) },
				func() { rec.Legacy().Event(tc.object, "Normal", "A", "a") },
				func() { rec.Failure(tc.object, nil) },
			}
			for i, call := range calls {
				within(t, func() { assert.NotPanics(t, call, "%s Call %d.", tc.reason, i) })
			}
			want := []string{events.InternalError, "Own", "A", "A"}
			if tc.lost == "" { // a failure was open
				want = append(want, events.Recovered)
			}
			assert.Equal(t, want, rec.Reasons(), tc.reason)
			for _, e := range rec.Entries() {
				assert.Equal(t, tc.lost, e.Lost, tc.reason)
			}
		})
	}
}

// A Scheme may call the Recorder, because no lock is held.
func TestRecorder_CallsTheSchemeWithoutItsLock(t *testing.T) {
	var rec eventstest.Recorder
	rec.Scheme = kinds(func() ([]schema.GroupVersionKind, bool, error) {
		_ = rec.Entries()
		return []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}, false, nil
	})
	nameless := object("a")
	nameless.Kind = ""
	within(t, func() {
		rec.Failure(nameless, assert.AnError)
		rec.Failure(nameless, nil)
	})
	assert.Equal(t, []string{events.InternalError, events.Recovered}, rec.Reasons())
}
