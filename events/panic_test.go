// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/proompteng/controllerkit/events"
)

// embedded is an object of a caller whose embedded pointer may be nil.
type embedded struct{ *corev1.ConfigMap }

// hooked is an object whose methods call a function of the test.
type hooked struct {
	*corev1.ConfigMap

	kind, uid func()
}

func (h hooked) GetObjectKind() schema.ObjectKind {
	h.kind()
	return h.ConfigMap.GetObjectKind()
}

func (h hooked) GetUID() types.UID {
	h.uid()
	return h.ConfigMap.GetUID()
}

// kinds is a scheme.
type kinds func() ([]schema.GroupVersionKind, bool, error)

func (k kinds) ObjectKinds(runtime.Object) ([]schema.GroupVersionKind, bool, error) { return k() }

func nothing() {}

func explode() { panic("a bug of the caller") }

// entryPoints are the calls that record something about an object.
func entryPoints() map[string]func(*events.Recorder, runtime.Object) {
	return map[string]func(*events.Recorder, runtime.Object){
		"Eventf":          func(r *events.Recorder, o runtime.Object) { r.Eventf(o, nil, "Normal", "A", "", "a") },
		"Failure":         func(r *events.Recorder, o runtime.Object) { r.Failure(o, errAway) },
		"Recovered":       func(r *events.Recorder, o runtime.Object) { r.Failure(o, nil) },
		"FailureReason":   func(r *events.Recorder, o runtime.Object) { r.FailureReason(o, "A", errAway) },
		"Event":           func(r *events.Recorder, o runtime.Object) { r.Legacy().Event(o, "Normal", "A", "a") },
		"LegacyEventf":    func(r *events.Recorder, o runtime.Object) { r.Legacy().Eventf(o, "Normal", "A", "a") },
		"LegacyAnnotated": func(r *events.Recorder, o runtime.Object) { r.Legacy().AnnotatedEventf(o, nil, "Normal", "A", "a") },
	}
}

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

// A reconcile never fails because it recorded something.
func TestCallersObject_ThatPanicsCostsOneOccurrence(t *testing.T) {
	named := object("a")
	nameless := object("b")
	nameless.UID = ""
	for name, tc := range map[string]struct {
		reason string
		object runtime.Object
		scheme kinds
	}{
		"EmbeddedNil":   {"A pointer that was never set has no metadata.", embedded{}, nil},
		"UID":           {"An accessor is the caller's code.", hooked{named, nothing, explode}, nil},
		"ObjectKind":    {"The caller also has the code that returns the kind of a new object.", hooked{named, explode, nothing}, nil},
		"KindWithNoUID": {"And of an object that is known by its kind.", hooked{nameless, explode, nothing}, nil},
		"Scheme":        {"The scheme is code of the caller too.", bare("a"), func() ([]schema.GroupVersionKind, bool, error) { panic("no kind") }},
	} {
		for entry, do := range entryPoints() {
			t.Run(name+"/"+entry, func(t *testing.T) {
				o := events.Options{}
				if tc.scheme != nil {
					o.Scheme = tc.scheme
				}
				rec, err := events.New((&server{}).sink(), controller, o)
				require.NoError(t, err)
				within(t, func() { assert.NotPanics(t, func() { do(rec, tc.object) }, tc.reason) })
				within(t, func() { rec.Failure(object("c"), errAway) })
				lost := map[string]int64{events.LostNoReference: 1}
				if entry == "Recovered" {
					lost = map[string]int64{} // no failure of the object is open
				}
				assert.Equal(t, lost, rec.Stats().Lost, tc.reason)
				assert.Equal(t, int64(1), rec.Stats().Pending, "the next event is recorded")
				assert.Empty(t, events.Unbalanced(rec))
			})
		}
	}
}

// A related object that panics is left out, as one of an unknown kind is.
func TestCallersRelatedObject_ThatPanicsIsLeftOut(t *testing.T) {
	s := &server{}
	rec, err := events.New(s.sink(), controller, events.Options{})
	require.NoError(t, err)
	within(t, func() {
		assert.NotPanics(t, func() { rec.Eventf(object("a"), embedded{}, "Normal", "A", "", "a") })
	})
	require.NoError(t, rec.Flush(t.Context()))
	require.Len(t, s.all(), 1)
	assert.Nil(t, s.all()[0].Related)
}

// The code of the caller may call the Recorder, because no lock is held.
func TestCallersCode_RunsWithoutTheLock(t *testing.T) {
	var rec *events.Recorder
	ask := func() { _ = rec.Stats() }
	scheme := kinds(func() ([]schema.GroupVersionKind, bool, error) {
		ask()
		return []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}, false, nil
	})
	for entry, do := range entryPoints() {
		for name, obj := range map[string]runtime.Object{"Object": hooked{object("a"), ask, ask}, "Scheme": bare("a")} {
			t.Run(name+"/"+entry, func(t *testing.T) {
				var err error
				rec, err = events.New((&server{}).sink(), controller, events.Options{Scheme: scheme})
				require.NoError(t, err)
				within(t, func() { do(rec, obj) })
				within(t, func() { do(rec, obj) })
				assert.Empty(t, rec.Stats().Lost)
			})
		}
	}
}

// asking is an error of a client, or the cause of a context.
type asking struct{ ask func() }

func (e *asking) Error() string {
	e.ask()
	return "asking"
}

func (e *asking) Unwrap() error {
	e.ask()
	return notGranted()
}

func TestCallersErrors_AreReadWithoutTheLock(t *testing.T) {
	var rec *events.Recorder
	own := &asking{func() { _ = rec.Stats() }}
	s := &server{refuse: func(context.Context, request) error { return own }}
	rec, err := events.New(s.sink(), controller, events.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	rec.Failure(object("a"), own)
	within(t, func() {
		time.AfterFunc(100*time.Millisecond, func() { cancel(own) })
		require.ErrorIs(t, rec.Flush(ctx), own)
	})
}

// brokenError is an error whose embedded pointer is nil.
type brokenError struct{ *apierrors.StatusError }

// nestedError panics with itself, so fmt cannot print it.
type nestedError struct{}

func (e nestedError) Error() string { panic(e) }

// unwrapping panics where errors.Is looks into it.
type unwrapping struct{}

func (unwrapping) Error() string { return "unwrapping" }
func (unwrapping) Unwrap() error { panic("no error") }

// reasoned panics where Classify asks it.
type reasoned struct{}

func (reasoned) Error() string  { return "reasoned" }
func (reasoned) Reason() string { panic("no reason") }

func TestCallersError_ThatPanicsIsAnInternalError(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		note   string
	}{
		"EmbeddedNil": {"Its Status and Error panic.", brokenError{}, "%!v(PANIC=Error method: runtime error: invalid memory address or nil pointer dereference)"},
		"Nested":      {"Its text cannot be had.", nestedError{}, "[withheld: formatting the note panicked]"},
		"Unwrap":      {"What it wraps cannot be had.", unwrapping{}, "unwrapping"},
		"Reason":      {"The method Reason may panic.", reasoned{}, "reasoned"},
		"Joined":      {"A panic is caught at any depth.", fmt.Errorf("all: %w", errors.Join(unwrapping{})), "all: unwrapping"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			rec, err := events.New(s.sink(), controller, events.Options{})
			require.NoError(t, err)
			within(t, func() { assert.NotPanics(t, func() { rec.Failure(object("a"), tc.err) }, tc.reason) })
			within(t, func() { assert.NotPanics(t, func() { rec.FailureReason(object("b"), "Own", tc.err) }, tc.reason) })
			require.NoError(t, rec.Flush(t.Context()))
			require.Len(t, s.all(), 2, tc.reason)
			got := map[string]string{s.all()[0].Reason: s.all()[0].Note, s.all()[1].Reason: s.all()[1].Note}
			assert.Equal(t, map[string]string{events.InternalError: tc.note, "Own": tc.note}, got, tc.reason)
			assert.NotPanics(t, func() { assert.False(t, events.IsTerminal(tc.err), tc.reason) })
		})
	}
}

func TestCallersArgument_ThatPanicsCostsTheText(t *testing.T) {
	s := &server{}
	rec, err := events.New(s.sink(), controller, events.Options{})
	require.NoError(t, err)
	within(t, func() {
		assert.NotPanics(t, func() { rec.Eventf(object("a"), nil, "Normal", "A", "", "%v", nestedError{}) })
	})
	require.NoError(t, rec.Flush(t.Context()))
	require.Len(t, s.all(), 1)
	assert.Equal(t, "[withheld: formatting the note panicked]", s.all()[0].Note)
}

func TestOnResult_ThatPanicsFailsNoReconcile(t *testing.T) {
	for entry, do := range entryPoints() {
		t.Run(entry, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				var log lines
				klog.SetLogger(log.logger())
				defer klog.ClearLogger()
				rec, stop := start(t, s, events.Options{OnResult: func(string, int64) { explode() }})
				assert.NotPanics(t, func() { do(rec, embedded{}) })
				assert.NotPanics(t, func() { do(rec, object("a")) })
				rec.Failure(object("b"), errAway)
				require.NoError(t, stop())
				assert.NotEmpty(t, s.all())
				assert.Equal(t, 1, strings.Count(log.String(), "Options.OnResult panicked"), "the first panic is logged")
				assertAccounts(t, rec)
			})
		})
	}
}

// exploding is a client that panics about one object.
type exploding struct{ eventsFake }

func (c exploding) Create(ctx context.Context, ev *eventsv1.Event, o metav1.CreateOptions) (*eventsv1.Event, error) {
	if ev.Regarding.Name == "broken" {
		explode()
	}
	return c.eventsFake.Create(ctx, ev, o)
}

func TestClient_ThatPanicsCostsOneOccurrence(t *testing.T) {
	for name, panics := range map[string]func(*server) *events.Sink{
		"Create": func(s *server) *events.Sink {
			return events.NewSink(func(ns string) exploding { return exploding{s.events(ns)} }, s.core)
		},
		"ItsError": func(s *server) *events.Sink {
			s.refuse = func(_ context.Context, w request) error {
				if w.object == "broken" {
					return unwrapping{}
				}
				return nil
			}
			return s.sink()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, err := events.New(panics(s), controller, events.Options{})
				require.NoError(t, err)
				var log lines
				stop := runLogged(t, rec, &log)
				rec.Failure(object("broken"), errAway)
				rec.Failure(inNamespace("other", "b"), errAway)
				time.Sleep(time.Second)
				assert.Equal(t, map[string]int64{events.LostRejected: 1}, rec.Stats().Lost)
				assert.Len(t, s.all(), 1, "the others are written")
				require.NoError(t, stop())
				assert.Contains(t, log.String(), "*events.Sink panicked with a string")
				assertAccounts(t, rec)
			})
		})
	}
}

func TestLogger_ThatPanicsCostsItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		log := funcr.New(func(string, string) { explode() }, funcr.Options{})
		ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), log))
		ended := make(chan error, 1)
		go func() { ended <- rec.RunWith(ctx, untilEnd) }()
		rec.Failure(nil, errAway)
		rec.Failure(object("a"), errAway)
		time.Sleep(time.Minute)
		cancel()
		require.NoError(t, <-ended)
		assert.Len(t, s.all(), 1)
	})
}
