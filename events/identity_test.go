// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/events"
)

// TestRelatedAndFieldPath_DistinguishSeries.
func TestRelatedAndFieldPath_DistinguishSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{WritesPerMinute: 100})
		part := func(path string) *corev1.ObjectReference {
			return &corev1.ObjectReference{Kind: "Pod", Namespace: "runs", Name: "p", UID: "p", FieldPath: path}
		}
		for range 3 {
			rec.Eventf(object("a"), object("b"), "Normal", "Linked", "", "linked")
			rec.Eventf(object("a"), object("c"), "Normal", "Linked", "", "linked")
			rec.Eventf(object("a"), nil, "Normal", "Linked", "", "linked")
			rec.Eventf(part("spec.containers{one}"), nil, "Normal", "Pulled", "", "pulled")
			rec.Eventf(part("spec.containers{two}"), nil, "Normal", "Pulled", "", "pulled")
		}
		require.NoError(t, stop())
		require.Len(t, s.all(), 5)
		seen := map[string]int32{}
		for _, ev := range s.all() {
			id := ev.Regarding.FieldPath
			if ev.Related != nil {
				assert.NotEmpty(t, ev.Related.Kind)
				id += ev.Related.Name
			}
			seen[id] = ev.Series.Count
		}
		assert.Equal(t, map[string]int32{"b": 3, "c": 3, "": 3, "spec.containers{one}": 3, "spec.containers{two}": 3}, seen)
	})
}

// overtaken is an error as the status package returns it.
type overtaken struct{}

func (overtaken) Error() string  { return "the object has changed" }
func (overtaken) Reason() string { return events.Conflict }

// TestFailure_PassesOverRoutineConflicts until they have gone on for two
// minutes.
func TestFailure_PassesOverRoutineConflicts(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("modified"))
	for name, tc := range map[string]struct {
		reason string
		err    error
	}{
		"Conflict":  {"The next try has the new version.", conflict},
		"Wrapped":   {"As controllers return it.", fmt.Errorf("update: %w", conflict)},
		"Overtaken": {"The Reason of package status names it.", fmt.Errorf("commit: %w", overtaken{})},
		"Joined":    {"Several conflicts together are routine.", errors.Join(conflict, overtaken{})},
		"Aggregate": {"As the packages of apimachinery join.", utilerrors.NewAggregate([]error{conflict, overtaken{}})},
		"Cancelled": {"A conflict and a cancellation are both routine.", errors.Join(conflict, fmt.Errorf("step 2: %w", context.Canceled))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, stop := start(t, s, events.Options{})
				failEach5s(rec, tc.err, 20)
				assert.Empty(t, s.all(), tc.reason)
				rec.Failure(object("a"), nil)
				synctest.Wait()
				assert.Empty(t, s.all(), "nothing was open")
				failEach5s(rec, tc.err, 25)
				require.NotEmpty(t, s.all(), "but they persist")
				assert.Equal(t, events.Conflict, lastRow(s).Reason)
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
}

// TestFailure_WritesWhatIsNotARoutineConflict also when it is returned once.
func TestFailure_WritesWhatIsNotARoutineConflict(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("modified"))
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"WithAnother":   {"The other one counts.", errors.Join(conflict, errAway), events.InternalError},
		"AlreadyExists": {"It does not pass by itself.", taken("x"), events.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, stop := start(t, s, events.Options{})
				failEach5s(rec, tc.err, 20)
				require.NotEmpty(t, s.all(), tc.reason)
				assert.Equal(t, tc.want, lastRow(s).Reason)
				rec.Failure(object("a"), nil)
				failEach5s(rec, tc.err, 25)
				assert.Equal(t, tc.want, lastRow(s).Reason, "also after a recovery")
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
}

// TestFailureReason_WritesAConflict: the caller has said what it is.
func TestFailureReason_WritesAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		rec.FailureReason(object("a"), "LockHeld", overtaken{})
		synctest.Wait()
		require.Len(t, s.all(), 1)
		assert.Equal(t, "LockHeld", s.all()[0].Reason)
	})
}

func failEach5s(rec *events.Recorder, err error, times int) {
	for range times {
		rec.Failure(object("a"), err)
		time.Sleep(5 * time.Second)
	}
}

// TestFailure_ConflictsMustBeInARow: a conflict that comes long after another,
// and after other failures, is routine.
func TestFailure_ConflictsMustBeInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		for _, err := range []error{overtaken{}, errAway, overtaken{}} {
			rec.Failure(object("a"), err)
			time.Sleep(5 * time.Minute)
		}
		require.Len(t, s.all(), 1)
		assert.NotEqual(t, events.Conflict, s.all()[0].Reason)
	})
}

// TestFailure_OfJoinedErrors: a cancelled error does not hide another error,
// and an Error method that panics does not fail the reconcile.
func TestFailure_OfJoinedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		rec.Failure(object("a"), utilerrors.NewAggregate([]error{context.Canceled, errAway}))
		rec.Failure(object("b"), (*fs.PathError)(nil))
		rec.Failure(object("c"), fmt.Errorf("x: %w", error((*net.OpError)(nil))))
		rec.Failure(object("d"), errors.Join((*fs.PathError)(nil), errAway))
		time.Sleep(time.Minute)
		assert.Len(t, s.all(), 4)
	})
}

// TestObjects_WithoutAUID: the recorder also distinguishes them by their API
// group, because Knative and the core have a Service of the same name.
func TestObjects_WithoutAUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		for _, version := range []string{"v1", "serving.knative.dev/v1"} {
			rec.Eventf(&corev1.ObjectReference{APIVersion: version, Kind: "Service", Namespace: "ns", Name: "web"}, nil, "Normal", "Seen", "", "")
		}
		time.Sleep(time.Minute)
		assert.Len(t, s.all(), 2)
	})
}

// TestObjects_HaveTheCapOfTheirReferences: the uid is the same.
func TestObjects_HaveTheCapOfTheirReferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		run := object("a")
		rec.Failure(run, errAway)
		rec.Failure(&corev1.ObjectReference{Kind: "ConfigMap", Namespace: run.Namespace, Name: run.Name, UID: run.UID}, errAway)
		time.Sleep(time.Minute)
		require.Len(t, s.all(), 1)
		assert.Equal(t, int32(2), s.all()[0].Series.Count)
	})
}

// TestClassify_FieldErrors: what a controller returns that has checked a spec.
func TestClassify_FieldErrors(t *testing.T) {
	steps := field.Required(field.NewPath("spec", "steps"), "")
	for name, tc := range map[string]struct {
		reason   string
		err      error
		terminal bool
	}{
		"One":       {"A retry finds the same.", fmt.Errorf("reconcile: %w", steps), true},
		"Aggregate": {"An aggregate of them does too.", field.ErrorList{steps, field.Invalid(field.NewPath("spec"), 1, "no")}.ToAggregate(), true},
		"Joined":    {"Several conflicts together are routine.", errors.Join(steps, errAway), true},
		"Internal":  {"The spec may be valid.", field.InternalError(field.NewPath("spec"), errAway), false},
		"Nil":       {"A typed nil is not an error of a field.", (*field.Error)(nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			reason, terminal := events.Classify(tc.err)
			assert.Equal(t, tc.terminal, terminal, tc.reason)
			assert.Equal(t, tc.terminal, reason == events.InvalidSpec, tc.reason)
		})
	}
}
