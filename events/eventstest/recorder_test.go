// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/eventstest"
	"github.com/proompteng/controllerkit/events/redact"
)

// What a reconciler may ask for, both recorders have.
type recorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
	Failure(obj runtime.Object, err error)
	FailureReason(obj runtime.Object, reason string, err error)
}

// runner is the fourth.
type runner interface {
	RunWith(ctx context.Context, run func(ctx context.Context) error) error
}

var (
	_ recorder                   = (*events.Recorder)(nil)
	_ recorder                   = (*eventstest.Recorder)(nil)
	_ runner                     = (*events.Recorder)(nil)
	_ runner                     = (*eventstest.Recorder)(nil)
	_ clientevents.EventRecorder = (*eventstest.Recorder)(nil)
	_ record.EventRecorder       = (*eventstest.LegacyRecorder)(nil)
)

func object(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "runs", Name: name},
	}
}

func TestEntriesAreTyped(t *testing.T) {
	var rec eventstest.Recorder
	run := object("a")
	rec.Eventf(run, object("b"), "Normal", "Started", "", "started with %d steps", 3)
	rec.Eventf(run, nil, "Warning", "Slow", "Wait", "100%% used")
	rec.Legacy().Event(run, "Normal", "Plain", "100% done")
	rec.Legacy().AnnotatedEventf(run, map[string]string{"k": "v"}, "Normal", "Old", "%s", "way")
	rec.Legacy().Eventf(run, "Normal", "Old", "password=%s", "hunter2")
	got := rec.Entries()
	require.Len(t, got, 5)
	assert.Equal(t, eventstest.Entry{
		Regarding: run, Type: "Normal", Reason: "Started", Action: "Started", Note: "started with 3 steps",
	}, got[0])
	assert.Equal(t, "100% used", got[1].Note)
	assert.Equal(t, "Wait", got[1].Action)
	assert.Equal(t, map[string]string{"k": "v"}, got[3].Annotations)
	assert.Equal(t, "100% done", got[2].Note)
	assert.Equal(t, "way", got[3].Note)
	assert.Equal(t, "password=[redacted]", got[4].Note, "notes are redacted as in a cluster")
	assert.Equal(t, []string{"Started", "Slow", "Plain", "Old", "Old"}, rec.Reasons())

	missing := apierrors.NewNotFound(corev1.Resource("secrets"), "db")
	rec.Failure(run, missing)
	assert.Equal(t, eventstest.Entry{
		Regarding: run, Type: "Warning", Reason: events.MissingSecret, Action: "Reconcile", Note: `secrets "db" not found`,
		Err: missing, Terminal: true,
	}, rec.Entries()[5])
}

func TestFailuresRecoverOnce(t *testing.T) {
	var rec eventstest.Recorder
	a, b := object("a"), object("b")
	missing := apierrors.NewNotFound(corev1.Resource("secrets"), "db")
	rec.Failure(a, nil)
	rec.Failure(a, missing)
	rec.Failure(b, fmt.Errorf("wrapped: %w", context.Canceled))
	rec.Failure(b, nil)
	rec.FailureReason(a, "Own", errors.New("x"))
	rec.Failure(a, nil)
	rec.Failure(a, nil)
	assert.Equal(t, []string{events.MissingSecret, "Own", events.Recovered}, rec.Reasons())
	got := rec.Entries()
	assert.True(t, got[0].Terminal)
	require.ErrorIs(t, got[0].Err, missing)
	assert.Equal(t, "recovered from Own", got[2].Note)
}

func TestWhatAClusterWouldRefuseIsMarked(t *testing.T) {
	var rec eventstest.Recorder
	rec.Eventf(nil, nil, "Normal", "A", "", "")
	rec.Eventf((*corev1.Pod)(nil), nil, "Normal", "A", "", "")
	rec.Eventf(object("a"), nil, "Error", "A", "", "")
	rec.Eventf(object("a"), nil, "Normal", "", "", "")
	rec.Eventf(object("a"), nil, "Normal", strings.Repeat("a", 129), "B", "")
	rec.Failure(nil, errors.New("x"))
	rec.Legacy().AnnotatedEventf(object("a"), map[string]string{"not a key": "x"}, "Normal", "A", "")
	rec.Legacy().AnnotatedEventf(object("a"), map[string]string{"Example.com/Run": "x"}, "Normal", "A", "")
	var causes []string
	for _, e := range rec.Entries() {
		causes = append(causes, e.Lost)
	}
	assert.Equal(t, []string{
		events.LostNoReference, events.LostNoReference, events.LostRejected, events.LostRejected, events.LostRejected, events.LostNoReference,
		events.LostRejected, "",
	}, causes)
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec eventstest.Recorder
		var all sync.WaitGroup
		all.Go(func() {
			for range 3 {
				<-time.After(time.Second)
				rec.Eventf(object("a"), nil, "Normal", "A", "", "")
			}
		})
		got, err := rec.Wait(t.Context(), 2)
		require.NoError(t, err)
		assert.Len(t, got, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err = rec.Wait(ctx, 9)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, got, 3, "what there is comes with the error")
		all.Wait()
	})
}

func TestRedactIsThatOfTheOptions(t *testing.T) {
	secrets := new(redact.SecretValues)
	require.Equal(t, 1, secrets.Add([]byte("correct-horse-7")))
	rec := &eventstest.Recorder{Redact: secrets.Redact}
	rec.Failure(object("run-1"), errors.New("refused with correct-horse-7, sorry"))
	assert.Equal(t, "refused with [redacted], sorry", rec.Entries()[0].Note)
}

// TestAnnotationsAreWhatAClusterGets: cleaned, on one line, cut; the caller's
// own are not touched.
func TestAnnotationsAreWhatAClusterGets(t *testing.T) {
	rec := &eventstest.Recorder{}
	given := map[string]string{"dsn": "postgres://u:hunter2@db\nx", "long": strings.Repeat("x", 2000)}
	rec.Legacy().AnnotatedEventf(&corev1.Pod{}, given, "Normal", "A", "")
	got := rec.Entries()[0].Annotations
	assert.Equal(t, "postgres://u:[redacted]@db x", got["dsn"])
	assert.Len(t, got["long"], 1024)
	assert.Contains(t, given["dsn"], "hunter2")
}

// TestRecorder_MarksWhatHasNoKind, as a cluster loses it.
func TestRecorder_MarksWhatHasNoKind(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	bare := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for name, tc := range map[string]struct {
		reason string
		rec    *eventstest.Recorder
		object runtime.Object
		lost   string
	}{
		"NoScheme":   {"Informers and typed clients return it so.", &eventstest.Recorder{}, bare, events.LostNoReference},
		"NilScheme":  {"A typed nil is none.", &eventstest.Recorder{Scheme: (*runtime.Scheme)(nil)}, bare, events.LostNoReference},
		"Scheme":     {"It finds the kind.", &eventstest.Recorder{Scheme: scheme}, bare, ""},
		"Unknown":    {"The scheme lacks the group.", &eventstest.Recorder{Scheme: runtime.NewScheme()}, bare, events.LostNoReference},
		"TypeMeta":   {"The object says it.", &eventstest.Recorder{}, object("a"), ""},
		"Reference":  {"A reference has a kind too.", &eventstest.Recorder{}, &corev1.ObjectReference{Kind: "Pod"}, ""},
		"NoKind":     {"Unless it is empty.", &eventstest.Recorder{}, &corev1.ObjectReference{}, events.LostNoReference},
		"NoMetadata": {"A list has no name.", &eventstest.Recorder{}, &metav1.Status{}, events.LostNoReference},
	} {
		t.Run(name, func(t *testing.T) {
			tc.rec.Failure(tc.object, errors.New("x"))
			assert.Equal(t, tc.lost, tc.rec.Entries()[0].Lost, tc.reason)
		})
	}
}

func TestReset(t *testing.T) {
	var rec eventstest.Recorder
	rec.Failure(object("a"), errors.New("x"))
	rec.Reset()
	rec.Failure(object("a"), nil)
	assert.Empty(t, rec.Entries(), "no failure is open")
}

func TestRunWith(t *testing.T) {
	var rec eventstest.Recorder
	broken := errors.New("broken")
	require.ErrorIs(t, rec.RunWith(t.Context(), func(context.Context) error {
		rec.Failure(object("a"), errors.New("x"))
		return broken
	}), broken)
	assert.Len(t, rec.Entries(), 1)
}

// TestFailure_PassesOverConflicts, as events.Recorder does for two minutes.
func TestFailure_PassesOverConflicts(t *testing.T) {
	var rec eventstest.Recorder
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("x"))
	rec.Failure(object("a"), conflict)
	rec.Failure(object("a"), nil)
	assert.Empty(t, rec.Entries())
	rec.Failure(object("a"), errors.Join(conflict, errors.New("x")))
	rec.FailureReason(object("a"), "Own", conflict)
	rec.Failure(object("b"), raced{conflict})
	assert.Equal(t, []string{events.InternalError, "Own", "QuotaRaced"}, rec.Reasons())
}

// raced names another reason than the conflict that it wraps.
type raced struct{ error }

func (raced) Reason() string  { return "QuotaRaced" }
func (r raced) Unwrap() error { return r.error }

// TestANilRecorder_DoesNothing, as a nil *events.Recorder.
func TestANilRecorder_DoesNothing(t *testing.T) {
	var rec *eventstest.Recorder
	rec.Eventf(object("a"), nil, "Normal", "A", "", "")
	rec.Failure(object("a"), errors.New("x"))
	rec.FailureReason(object("a"), "A", errors.New("x"))
	rec.Reset()
	rec.Legacy().Event(object("a"), "Normal", "A", "")
	rec.Legacy().Eventf(object("a"), "Normal", "A", "")
	(*eventstest.LegacyRecorder)(nil).Event(object("a"), "Normal", "A", "")
	(*eventstest.LegacyRecorder)(nil).Eventf(object("a"), "Normal", "A", "")
	(*eventstest.LegacyRecorder)(nil).AnnotatedEventf(object("a"), nil, "Normal", "A", "")
	assert.Empty(t, rec.Entries())
	assert.Empty(t, rec.Reasons())
	entries, err := rec.Wait(t.Context(), 0)
	require.NoError(t, err)
	assert.Empty(t, entries)
	require.NoError(t, rec.RunWith(t.Context(), func(context.Context) error { return nil }))
}
