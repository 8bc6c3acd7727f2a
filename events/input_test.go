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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/events"
)

// bare is a typed object as typed clients return them: without TypeMeta.
func bare(name string) *corev1.ConfigMap {
	o := object(name)
	o.TypeMeta = metav1.TypeMeta{}
	return o
}

// odd is a runtime.Object without metadata.
type odd struct{}

func (odd) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (odd) DeepCopyObject() runtime.Object   { return odd{} }

func TestReference_ToEveryKindOfObject(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	noUID := bare("a")
	noUID.UID = ""
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "agents.example.com/v1", "kind": "AgentRun", "metadata": map[string]any{"name": "u", "namespace": "runs", "uid": "7"},
	}}
	cases := map[string]struct {
		reason    string
		object    runtime.Object
		namespace string
		want      corev1.ObjectReference
	}{
		"TypeMeta":     {"What the object says of itself comes first.", object("a"), "runs", corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "runs", Name: "a", UID: "uid-a"}},
		"Scheme":       {"Typed clients leave TypeMeta empty.", bare("a"), "runs", corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "runs", Name: "a", UID: "uid-a"}},
		"NoUID":        {"An object may not have been created yet.", noUID, "runs", corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "runs", Name: "a"}},
		"Cluster":      {"Events of cluster-scoped objects live in one namespace.", node, "default", corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}},
		"Unstructured": {"Dynamic clients and generic controllers.", thing, "runs", corev1.ObjectReference{APIVersion: "agents.example.com/v1", Kind: "AgentRun", Namespace: "runs", Name: "u", UID: "7"}},
		"Metadata": {"A metadata client returns such objects.", &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "runs"},
		}, "runs", corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "runs", Name: "p"}},
		"Reference": {"An object that was never read, or a part of it.", &corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: "runs", Name: "p", UID: "9", FieldPath: "spec.containers{main}", ResourceVersion: "4",
		}, "runs", corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "runs", Name: "p", UID: "9", FieldPath: "spec.containers{main}"}},
		"ReferenceNoUID": {"Kind and name suffice.", &corev1.ObjectReference{Kind: "Pod", Name: "p"}, "default", corev1.ObjectReference{Kind: "Pod", Name: "p"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, _ := start(t, s, events.Options{Scheme: scheme})
				rec.Failure(tc.object, errAway)
				rec.Failure(tc.object, errAway)
				synctest.Wait()
				require.Len(t, s.all(), 1, tc.reason)
				assert.Equal(t, tc.want, s.all()[0].Regarding, tc.reason)
				assert.Equal(t, tc.namespace, s.all()[0].Namespace, tc.reason)
			})
		})
	}
}

// No bad input panics or disappears: each is counted by its cause, and the log
// says what to fix.
func TestBadInput_IsCountedAndNamed(t *testing.T) {
	long := strings.Repeat("x", 129)
	cases := map[string]struct {
		reason string
		do     func(*events.Recorder)
		cause  string
		log    string
	}{
		"NilObject":      {"A lookup may have failed.", func(r *events.Recorder) { r.Failure(nil, errAway) }, events.LostNoReference, "the object is nil"},
		"NilPointer":     {"An interface may hold a nil pointer.", func(r *events.Recorder) { r.Failure((*corev1.Pod)(nil), errAway) }, events.LostNoReference, "the object is nil"},
		"NoKind":         {"No scheme was given.", func(r *events.Recorder) { r.Failure(bare("a"), errAway) }, events.LostNoReference, "set Options.Scheme"},
		"NoMetadata":     {"Not every runtime.Object is one.", func(r *events.Recorder) { r.Failure(odd{}, errAway) }, events.LostNoReference, "odd has no object metadata"},
		"NoKindYet":      {"An object that was never filled.", func(r *events.Recorder) { r.Failure(&unstructured.Unstructured{}, errAway) }, events.LostNoReference, "set Options.Scheme"},
		"EmptyReference": {"A reference to nothing.", func(r *events.Recorder) { r.Failure(&corev1.ObjectReference{}, errAway) }, events.LostNoReference, "names no kind"},
		"UnknownType":    {"The API server takes two.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "Error", "A", "", "") }, events.LostRejected, `event type \"Error\" of reason \"A\" is not accepted; want Normal or Warning`},
		"NoType":         {"Nor does it guess one.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "", "A", "", "") }, events.LostRejected, `event type \"\" of reason \"A\" is not accepted; want Normal or Warning`},
		"NoReason":       {"events.k8s.io requires one.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "Normal", "", "B", "") }, events.LostRejected, `reason \"\" has 0 bytes; want 1 to 128`},
		"LegacyReason":   {"By the older interface as well.", func(r *events.Recorder) { r.Legacy().Event(object("a"), "Normal", long, "") }, events.LostRejected, `x\" has 129 bytes; want 1 to 128`},
		"LongReason":     {"And takes 128 bytes.", func(r *events.Recorder) { r.FailureReason(object("a"), long, errAway) }, events.LostRejected, `x\" has 129 bytes; want 1 to 128`},
		"LongAction":     {"Of the action as well.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "Normal", "A", long, "") }, events.LostRejected, `x\" of reason \"A\" has 129 bytes; want at most 128`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, err := events.New(s.sink(), controller, events.Options{})
				require.NoError(t, err)
				var log lines
				stop := runLogged(t, rec, &log)
				for range 3 {
					tc.do(rec)
				}
				synctest.Wait()
				assert.Equal(t, map[string]int64{tc.cause: 3}, rec.Stats().Lost, tc.reason)
				require.NoError(t, stop(), "they were lost before")
				assert.Contains(t, log.String(), tc.cause)
				assert.Contains(t, log.String(), tc.log, tc.reason)
				assert.Empty(t, s.asked())
			})
		})
	}
}

// TestLongestReasonAndAction_AreTaken: 128 bytes each.
func TestLongestReasonAndAction_AreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{})
		rec.Eventf(object("a"), nil, "Normal", strings.Repeat("r", 128), strings.Repeat("a", 128), "")
		require.NoError(t, stop())
		assert.Len(t, s.all(), 1)
	})
}

// A scheme that was set may lack the API group of an object.
func TestKind_ThatTheSchemeLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{Scheme: runtime.NewScheme()})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		rec.Failure(bare("a"), errAway)
		rec.Eventf(bare("a"), nil, "Normal", "A", "", "")
		rec.Legacy().Event(bare("a"), "Normal", "A", "")
		assert.Equal(t, map[string]int64{events.LostNoReference: 3}, rec.Stats().Lost)
		require.NoError(t, stop())
		assert.Contains(t, log.String(), "Options.Scheme does not know *v1.ConfigMap: register its API group")
		assert.Empty(t, s.asked())
	})
}

type lines []string

func (l *lines) String() string { return strings.Join(*l, "\n") }

// logger returns a logger that adds its lines to l, except that of a start
// without a Scheme: TestStart_SaysThatThereIsNoScheme.
func (l *lines) logger() logr.Logger {
	// funcr serialises nothing, and all workers log.
	mu := make(chan struct{}, 1)
	return funcr.New(func(prefix, args string) {
		if strings.Contains(args, "Options.Scheme is not set") {
			return
		}
		mu <- struct{}{}
		*l = append(*l, prefix+args)
		<-mu
	}, funcr.Options{})
}

func runLogged(t *testing.T, rec *events.Recorder, to *lines) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), to.logger()))
	ended := make(chan error, 1)
	go func() { ended <- rec.RunWith(ctx, untilEnd) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func TestOneLine_AMinuteForEachCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		for range 600 {
			rec.Eventf(object("a"), nil, "Error", "A", "", "secret note")
			rec.Failure(nil, errAway)
			time.Sleep(time.Second)
		}
		_ = stop()
		assert.LessOrEqual(t, len(log), 2*11)
		assert.GreaterOrEqual(t, len(log), 2*2)
		assert.NotContains(t, log.String(), "secret note")
		assert.NotContains(t, log.String(), `"level"`, "each line is an error")
	})
}

// TestLog_OfANamespaceThatIsGone is information: its Events go with it.
func TestLog_OfANamespaceThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, err := events.New((&server{refuse: func(context.Context, request) error { return namespaceAbsent() }}).sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		require.NoError(t, stop())
		require.Len(t, log, 1)
		assert.Contains(t, log[0], `"level"=0 "msg"="Dropped events"`)
	})
}

// TestLog_IsEmptyWhereNothingIsRefused, also where core/v1 is the only group.
func TestLog_IsEmptyWhereNothingIsRefused(t *testing.T) {
	s := &server{}
	for name, sink := range map[string]*events.Sink{"Both": s.sink(), "Core": events.NewCoreSink(s.core)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec, err := events.New(sink, controller, events.Options{})
				require.NoError(t, err)
				var log lines
				stop := runLogged(t, rec, &log)
				rec.Failure(object("a"), errAway)
				synctest.Wait()
				require.NoError(t, stop())
				assert.NotEmpty(t, s.all())
				assert.Empty(t, log)
			})
		})
	}
}

// TestLog_OfALossComesAfterItsMinute without another call, or at the end.
func TestLog_OfALossComesAfterItsMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, err := events.New((&server{}).sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		synctest.Wait()
		for _, want := range []int{1, 1} {
			rec.Failure(nil, errAway)
			synctest.Wait()
			assert.Len(t, log, want)
		}
		_ = rec.Stats() // its lock orders the reads of log before the next line
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, log, 2, "at the end of the minute")
		rec.Failure(nil, errAway)
		synctest.Wait()
		assert.Len(t, log, 2)
		require.NoError(t, stop())
		assert.Len(t, log, 3)
	})
}

func TestLog_NamesTheMissingPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.group != "" {
				return notGranted()
			}
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		for _, o := range objects(10) {
			rec.Failure(o, errAway)
		}
		synctest.Wait()
		assert.Len(t, log, 1, "once, not for each event")
		for range 4 {
			time.Sleep(30 * time.Minute)
			rec.FailureReason(object("a"), "Again", errors.New(time.Now().String()))
		}
		synctest.Wait()
		require.NoError(t, stop())
		assert.Len(t, log, 3, "and once an hour")
		assert.Contains(t, log.String(), "events.events.k8s.io")
	})
}

// TestText_BeyondItsNoteIsNoChange: it would make equal Events.
func TestText_BeyondItsNoteIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		for i := range 5 {
			rec.Failure(object("a"), fmt.Errorf("%s%d", strings.Repeat("x", 5000), i))
		}
		time.Sleep(time.Minute)
		assert.Len(t, s.all(), 1)
	})
}

func TestEvent_ThatTheServerRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return rejected() }}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		for range 60 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
		}
		_ = stop()
		assert.LessOrEqual(t, len(s.asked()), 5, "it is not tried at each occurrence")
		assert.Equal(t, map[string]int64{events.LostRejected: 60}, rec.Stats().Lost)
		assert.Contains(t, log.String(), "note: FieldValueTooLong", "which field to fix")
		assertAccounts(t, rec)
	})
}

// An API server quotes the value that it refuses.
func TestRejectedNote_IsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const note = "a private matter"
		s := &server{refuse: func(context.Context, request) error {
			return apierrors.NewInvalid(schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}, "a.1",
				field.ErrorList{field.Invalid(field.NewPath("note"), note, "no")})
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		rec.Failure(object("a"), errors.New(note))
		time.Sleep(time.Minute)
		_ = stop()
		require.NotEmpty(t, s.asked())
		assert.Contains(t, log.String(), "note: FieldValueInvalid")
		assert.NotContains(t, log.String(), note)
	})
}

func TestNotes_AreFormattedAsCallersExpect(t *testing.T) {
	cases := map[string]struct {
		reason string
		do     func(*events.Recorder)
		want   string
	}{
		"Args":    {"The arguments are formatted as fmt does.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "Normal", "A", "", "%d of %s", 3, "x") }, "3 of x"},
		"NoArgs":  {"Without arguments the verbs are text.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "Normal", "A", "", "50%d off, %s", []any{}...) }, "50%d off, %s"},
		"Percent": {"An escaped percent sign is one sign.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "Normal", "A", "", "100%% full") }, "100% full"},
		"Legacy":  {"tools/record Event takes no format.", func(r *events.Recorder) { r.Legacy().Event(object("a"), "Normal", "A", "100%% %s") }, "100%% %s"},
		"Legacyf": {"Eventf formats its arguments.", func(r *events.Recorder) { r.Legacy().Eventf(object("a"), "Normal", "A", "%v", true) }, "true"},
		"Error":   {"The text of an error is not a format.", func(r *events.Recorder) { r.Failure(object("a"), errors.New("%s 100%%")) }, "%s 100%%"},
		"Secret":  {"A credential in an error is redacted.", func(r *events.Recorder) { r.Failure(object("a"), errors.New("dial redis://:"+"s3cr3t"+"@h")) }, "dial redis://:[redacted]@h"},
		"SecretArg": {"Redact sees the text after formatting.", func(r *events.Recorder) {
			r.Eventf(object("a"), nil, "Normal", "A", "", "pass%s=%s", "word", "hunter2")
		}, "password=[redacted]"},
		"Huge": {"Cut to 1024 bytes.", func(r *events.Recorder) {
			r.Eventf(object("a"), nil, "Normal", "A", "", strings.Repeat("ab ", 4<<20), []any{}...)
		}, strings.Repeat("ab ", 342)[:1024]},
		"Lines":        {"A note is one line.", func(r *events.Recorder) { r.Failure(object("a"), errors.New("a\nb")) }, "a b"},
		"NilPointer":   {"An error may be a nil pointer.", func(r *events.Recorder) { r.Failure(object("a"), (*nilError)(nil)) }, "<nil>"},
		"PanickingArg": {"fmt survives it.", func(r *events.Recorder) { r.Eventf(object("a"), nil, "Normal", "A", "", "%v", panicking{}) }, "%!v(PANIC=String method: oops)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, _ := start(t, s, events.Options{})
				tc.do(rec)
				synctest.Wait()
				require.Len(t, s.all(), 1)
				assert.Equal(t, tc.want, s.all()[0].Note, tc.reason)
			})
		})
	}
}

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

type panicking struct{}

func (panicking) String() string { panic("oops") }

func TestAnnotations_AndRelatedAreRedactedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{Redact: func(s string) string { return strings.ReplaceAll(s, "hush", "-") }})
		in := map[string]string{"k": "hush, now"}
		rec.Legacy().AnnotatedEventf(object("d"), in, "Normal", "A", "hush")
		rec.Eventf(object("a"), object("hush"), "Normal", "A", "B", "hush")
		rec.Eventf(object("b"), odd{}, "Normal", "A", "B", "without")
		rec.Eventf(object("c"), (*corev1.Pod)(nil), "Normal", "A", "B", "without")
		synctest.Wait()
		byName := map[string]string{}
		for _, ev := range s.all() {
			related := "none"
			if ev.Related != nil {
				related = ev.Related.Name
			}
			byName[ev.Regarding.Name] = fmt.Sprint(ev.Note, ev.Annotations, related)
		}
		assert.Equal(t, map[string]string{"a": "-map[]-", "b": "withoutmap[]none", "c": "withoutmap[]none", "d": "-map[k:-, now]none"}, byName)
		assert.Equal(t, map[string]string{"k": "hush, now"}, in, "the caller's map is left alone")
	})
}

// TestARedactor_ThatPanicsOnANote: the redactor is the caller's code. Its panic
// costs the text, and the Event is written.
func TestARedactor_ThatPanicsOnANote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{Redact: func(s string) string { panic(s) }})
		rec.Failure(object("a"), errAway)
		synctest.Wait()
		require.Len(t, s.all(), 1)
		assert.Equal(t, "[withheld: the redactor panicked with a string]", s.all()[0].Note)
		require.NoError(t, stop())
		assertAccounts(t, rec)
	})
}

// TestTheRedactor_MayCallTheRecorder: no lock is held while it cleans a note
// or an answer of the API server.
func TestTheRedactor_MayCallTheRecorder(t *testing.T) {
	for name, answer := range map[string]error{"Stored": nil, "Fault": unavailable(), "Denied": notGranted(), "Rejected": rejected(), "Gone": namespaceAbsent()} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{refuse: func(context.Context, request) error { return answer }}
			var rec *events.Recorder
			rec, err := events.New(s.sink(), controller, events.Options{Redact: func(s string) string {
				_ = rec.Stats()
				return s
			}})
			require.NoError(t, err)
			stop := run(t, rec)
			rec.Failure(object("a"), errAway)
			time.Sleep(2 * time.Minute)
			_ = stop()
			assert.Equal(t, answer == nil, rec.Stats().Written == 1, name)
			assertAccounts(t, rec)
		})
	}
}
