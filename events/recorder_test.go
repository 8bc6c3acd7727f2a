// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
)

var errAway = errors.New("the store is away")

// invalid is a terminal error.
func invalid(text string) error {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "AgentRun"}, "a", nil)
	err.ErrStatus.Message = text
	return err
}

//req:shows E2
func TestFirstOccurrence_IsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{Instance: "pod-0"})
		began := time.Now()
		rec.Eventf(object("a"), object("b"), "Warning", "StepFailed", "Run", "step %d failed", 2)
		synctest.Wait()
		require.Len(t, s.all(), 1)
		ev := s.all()[0]
		assert.Equal(t, "runs", ev.Namespace)
		assert.Regexp(t, `^a\.[0-9a-f]+$`, ev.Name)
		assert.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "runs", Name: "a", UID: "uid-a"}, ev.Regarding,
			"the resourceVersion plays no part")
		assert.Equal(t, &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "runs", Name: "b", UID: "uid-b"}, ev.Related)
		assert.Equal(t, [...]string{"Warning", "StepFailed", "Run", "step 2 failed"}, [...]string{ev.Type, ev.Reason, ev.Action, ev.Note})
		assert.Equal(t, [...]string{controller, "pod-0"}, [...]string{ev.ReportingController, ev.ReportingInstance})
		assert.True(t, ev.EventTime.Time.Equal(began))
		assert.Nil(t, ev.Series)
	})
}

func TestRepeats_BecomeOneSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 5})
		run := object("a")
		for i := range 11 {
			run.ResourceVersion = strconv.Itoa(i)
			rec.Failure(run, errAway)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		require.Len(t, s.asked(), 1, "repeats within the pause of 12 s are counted")
		last := time.Now().Add(-time.Second)
		time.Sleep(time.Minute)
		require.Len(t, s.asked(), 2, "their count is written when the burst ends")
		assert.Equal(t, int32(11), s.all()[0].Series.Count)
		assert.True(t, s.all()[0].Series.LastObservedTime.Time.Equal(last), "with the time of the last, not of the write")
		time.Sleep(time.Hour)
		require.Len(t, s.asked(), 2, "an idle object causes no writes")
	})
}

func TestVolume_TenThousandFailuresOfOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cases := map[string]struct {
			reason string
			every  time.Duration
			err    func(i int) error
			most   int
		}{
			"Same":    {"One Event and its updates, for every resourceVersion.", time.Second, func(int) error { return errAway }, 25},
			"Varying": {"A new Event with each note that is written.", time.Second, func(i int) error { return fmt.Errorf("attempt %d", i) }, 50},
			"Fast":    {"A tight loop does not write a storm.", time.Millisecond, func(int) error { return errAway }, 2},
		}
		for name, tc := range cases {
			s := &server{}
			rec, stop := start(t, s, events.Options{WritesPerMinute: 1})
			run := object("a")
			for i := range 10_000 {
				run.ResourceVersion = strconv.Itoa(i)
				rec.Failure(run, tc.err(i))
				time.Sleep(tc.every)
			}
			require.NoError(t, stop())
			reported := int32(0)
			for _, ev := range s.all() {
				reported += countOf(ev)
			}
			assert.LessOrEqual(t, len(s.asked()), tc.most, "%s: %s", name, tc.reason)
			if name != "Fast" { // which ends while the cap still forbids a second write
				assert.Equal(t, int32(10_000), reported, "%s: every repeat is counted", name)
			}
			assertCap(t, s, 1)
		}
	})
}

func TestChangedNote_IsANewEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		run := object("a")
		rec.Eventf(run, nil, "Warning", "Slow", "Run", "took %ds", 10)
		synctest.Wait()
		rec.Eventf(run, nil, "Warning", "Slow", "Run", "took %ds", 11) // in the pause
		rec.Eventf(run, nil, "Warning", "Slow", "Run", "took %ds", 12)
		time.Sleep(12 * time.Second)
		synctest.Wait()
		require.Len(t, s.all(), 2)
		assert.Equal(t, "took 12s", s.all()[1].Note, "the reader sees the latest cause")
		assert.Equal(t, int32(2), s.all()[1].Series.Count, "it includes the earlier occurrences without a write")
		assert.Nil(t, s.all()[0].Series)
	})
}

//req:shows E1
func TestTerminalError_IsWrittenWheneverItsTextChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 10})
		run := object("a")
		for _, text := range []string{"spec.agent: Required value", "spec.agent: Required value", "spec.timeout: Invalid value"} {
			rec.Failure(run, invalid(text))
			synctest.Wait()
		}
		require.Len(t, s.all(), 2)
		assert.Equal(t, "spec.timeout: Invalid value", s.all()[1].Note)
		assert.Equal(t, events.InvalidSpec, s.all()[1].Reason)
		// A text may change often: the writes stay within the cap, and the
		// last text is shown.
		for i := range 100 {
			rec.Failure(run, invalid(fmt.Sprint("text ", i)))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Hour)
		assertCap(t, s, 10)
		last := s.all()[len(s.all())-1]
		assert.Equal(t, "text 99", last.Note)
	})
}

func TestRecovered_EndsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		run := object("a")
		rec.Failure(run, nil)
		assert.Zero(t, rec.Stats().Recorded, "nothing is open")
		rec.Failure(run, errAway)
		rec.FailureReason(run, "StepFailed", errAway)
		rec.Failure(run, nil)
		rec.Failure(run, nil)
		synctest.Wait()
		require.Len(t, s.all(), 3)
		ev := s.all()[2]
		assert.Equal(t, [...]string{"Normal", events.Recovered, "recovered from StepFailed"}, [...]string{ev.Type, ev.Reason, ev.Note})
		time.Sleep(5 * time.Minute)
		assert.Len(t, s.asked(), 3, "the recovery is written once")

		rec.Failure(run, errAway)
		synctest.Wait()
		require.Len(t, s.all(), 4, "the next failure is another episode: a new Event")
		assert.Nil(t, s.all()[3].Series)
	})
}

// TestObjects_AreDistinguishedByUIDAndName: a restored cluster, or a test, may
// have two objects with one uid.
func TestObjects_AreDistinguishedByUIDAndName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{})
		first, second := object("a"), object("a")
		second.UID = types.UID("recreated")
		third := object("a")
		third.UID = ""
		fourth := object("b")
		fourth.UID = ""
		fifth := object("copy")
		fifth.UID = first.UID
		for range 3 {
			for _, o := range []*corev1.ConfigMap{first, second, third, fourth, fifth} {
				rec.Failure(o, errAway)
			}
		}
		synctest.Wait()
		assert.Len(t, s.all(), 5)
	})
}

func TestSeries_HasATypeReasonAndAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, _ := start(t, s, events.Options{WritesPerMinute: 100})
		for range 3 {
			rec.Eventf(object("a"), nil, "Normal", "A", "X", "n")
			rec.Eventf(object("a"), nil, "Warning", "A", "X", "n")
			rec.Eventf(object("a"), nil, "Normal", "B", "X", "n")
			rec.Eventf(object("a"), nil, "Normal", "A", "Y", "n")
			rec.Eventf(object("a"), nil, "Normal", "A", "", "n")
			rec.Legacy().Event(object("a"), "Normal", "A", "n") // the reason is the action
		}
		synctest.Wait()
		assert.Len(t, s.all(), 5)
	})
}

// assertCap checks that no 60 seconds hold more than n requests about one
// object, refused ones included.
func assertCap(t *testing.T, s *server, n int) {
	t.Helper()
	byObject := map[string][]time.Time{}
	for _, w := range s.asked() {
		id := w.namespace + "/" + w.object
		byObject[id] = append(byObject[id], w.at)
	}
	for o, times := range byObject {
		slices.SortFunc(times, time.Time.Compare)
		for i := n; i < len(times); i++ {
			if !assert.GreaterOrEqual(t, times[i].Sub(times[i-n]), time.Minute, "writes about %s", o) {
				return
			}
		}
	}
}
