// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc/expire"
)

// The types of client-go satisfy the interfaces.
var _ = func(c batchv1client.BatchV1Interface, i cache.SharedIndexInformer, finished func(*batchv1.Job) (time.Time, *int32)) (*expire.Sweeper, error) {
	return expire.New(c.Jobs, i.GetStore().List, finished, new(expire.ServerTime), expire.Options{})
}

// run is an object that owns a Job.
type run struct {
	metav1.ObjectMeta

	finished time.Time
	ttl      *int32
}

func finished(r *run) (time.Time, *int32) { return r.finished, r.ttl }

var (
	start    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	resource = schema.GroupResource{Group: "agents.example.com", Resource: "agentruns"}
)

// cluster holds runs and answers as the real API server does. The store is what
// was read of them last.
type cluster struct {
	live   map[string]*run
	store  []any
	asked  []string
	refuse func(name string) error
}

var _ cache.ResourceEventHandler = (*expire.Sweeper)(nil)

func newCluster(runs ...*run) *cluster {
	c := &cluster{live: map[string]*run{}}
	for _, r := range runs {
		c.live[r.Name] = r
		read := *r
		c.store = append(c.store, &read)
	}
	return c
}

// run finished so long ago.
func ran(name string, ago time.Duration, edit ...func(*run)) *run {
	r := &run{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7"}}
	if ago > 0 {
		r.finished = start.Add(-ago)
	}
	for _, e := range edit {
		e(r)
	}
	return r
}

func (c *cluster) runs(string) *cluster { return c }
func (c *cluster) list() []any          { return c.store }

func (c *cluster) Delete(_ context.Context, name string, opts metav1.DeleteOptions) error {
	c.asked = append(c.asked, name)
	if c.refuse != nil {
		if err := c.refuse(name); err != nil {
			return err
		}
	}
	r := c.live[name]
	if r == nil {
		return apierrors.NewNotFound(resource, name)
	}
	if *opts.Preconditions.UID != r.UID || *opts.Preconditions.ResourceVersion != r.ResourceVersion {
		return apierrors.NewConflict(resource, name, errors.New("precondition failed"))
	}
	if *opts.PropagationPolicy != metav1.DeletePropagationBackground {
		return errors.New("what a run owns goes with it")
	}
	delete(c.live, name)
	return nil
}

func newSweeper(t *testing.T, c *cluster, opts expire.Options) *expire.Sweeper {
	t.Helper()
	opts.TTL = time.Hour
	s, err := expire.New(c.runs, c.list, finished, answeredAt(start), opts)
	require.NoError(t, err)
	return s
}

// newCapped returns a Sweeper that makes at most so many deletions in a sweep.
func newCapped(t *testing.T, c *cluster, most int) *expire.Sweeper {
	t.Helper()
	s := newSweeper(t, c, expire.Options{})
	expire.SetMost(s, most)
	return s
}

func TestSweep(t *testing.T) {
	cases := map[string]struct {
		reason    string
		run       *run
		meanwhile func(*run)
		stays     bool
		asked     bool
	}{
		"Over":       {"The retention of the run is over.", ran("a", 2*time.Hour), nil, false, true},
		"NotYet":     {"The retention of the run is not over.", ran("a", 59*time.Minute), nil, true, false},
		"Running":    {"The run has not finished.", ran("a", 0), nil, true, false},
		"OwnShorter": {"The run's own value counts.", ran("a", time.Minute, func(r *run) { r.ttl = ptr.To[int32](30) }), nil, false, true},
		"OwnKeeps":   {"0 keeps.", ran("a", 1000*time.Hour, func(r *run) { r.ttl = ptr.To[int32](0) }), nil, true, false},
		"Retained": {
			"The annotation keeps the run.", ran("a", 2*time.Hour, func(r *run) { r.Annotations = map[string]string{"agents.proompteng.ai/retain": "true"} }),
			nil, true, false,
		},
		"RetainedMeanwhile": {
			"The annotation came after the run was read.", ran("a", 2*time.Hour), func(r *run) { r.ResourceVersion = "8" }, true, true,
		},
		"CreatedAnewMeanwhile": {"A successor of the same name is another run.", ran("a", 2*time.Hour), func(r *run) { r.UID = "successor" }, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCluster(tc.run)
			c.store = append(c.store, "an item of another type is ignored", &batchv1.Job{})
			if tc.meanwhile != nil {
				tc.meanwhile(c.live["a"])
			}
			deleted, err := newSweeper(t, c, expire.Options{}).Sweep(t.Context(), start)
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.stays, c.live["a"] != nil, tc.reason)
			assert.Equal(t, tc.asked, len(c.asked) == 1, tc.reason)
			assert.Equal(t, !tc.stays, deleted == 1)
		})
	}
}

// Runs that pile up because something other than the API server answers must be
// reported as an error.
func TestSweepIsNotFooled(t *testing.T) {
	for name, answer := range map[string]error{
		"Proxy":     apierrors.NewGenericServerResponse(http.StatusNotFound, "delete", resource, "a", "404 page not found", 0, true),
		"Another":   apierrors.NewNotFound(resource, "b"),
		"Conflict":  apierrors.NewGenericServerResponse(http.StatusConflict, "delete", resource, "a", "<html>", 0, true),
		"Webhook":   &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: `admission webhook "keep" denied the request`}},
		"NoDetails": &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(ran("a", 2*time.Hour))
			c.refuse = func(string) error { return answer }
			_, err := newSweeper(t, c, expire.Options{}).Sweep(t.Context(), start)
			require.ErrorIs(t, err, answer)
			require.ErrorContains(t, err, "jobgc/expire: ns/a: ")
		})
	}
}

//req:shows J1
func TestSweepIsCapped(t *testing.T) {
	c := newCluster(ran("b", 3*time.Hour), ran("a", 2*time.Hour), ran("own", 5*time.Hour, func(r *run) { r.ttl = ptr.To[int32](4*3600 + 1) }), ran("c", 4*time.Hour))
	s := newCapped(t, c, 3)
	deleted, err := s.Sweep(t.Context(), start)
	require.NoError(t, err)
	assert.Equal(t, 3, deleted)
	assert.Equal(t, []string{"c", "b", "a"}, c.asked, "the most overdue first, by their own values")
	c.store = []any{c.live["own"]}
	deleted, err = s.Sweep(t.Context(), start)
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
}

// More runs than the cap cannot be deleted. In the case Gone the store is
// stale: none of them exists, and the API server answers NotFound for each.
func TestSweep_GoesRoundWhatItCannotDelete(t *testing.T) {
	for name, answer := range map[string]error{
		"Refused": errors.New("a webhook says no"),
		"Changed": apierrors.NewConflict(resource, "stuck", errors.New("precondition failed")),
		"Gone":    apierrors.NewNotFound(resource, "stuck"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(ran("fine", 2*time.Hour))
			for i := range 7 {
				c.store = append(c.store, ran("stuck", time.Duration(10+i)*time.Hour, func(r *run) { r.UID = types.UID(fmt.Sprint(i)) }))
			}
			c.refuse = func(name string) error {
				if name == "fine" {
					return nil
				}
				return answer
			}
			s := newCapped(t, c, 6)
			_, err := s.Sweep(t.Context(), start)
			if name == "Refused" {
				require.ErrorContains(t, err, "jobgc/expire: ns/stuck: a webhook says no")
				require.ErrorContains(t, err, "and 1 more")
			} else {
				require.NoError(t, err)
			}
			_, _ = s.Sweep(t.Context(), start)
			assert.Empty(t, c.live)
			assert.Len(t, c.asked, 12, "the cap is kept")
		})
	}
}

// A Sweeper that follows the informer looks at the runs when one may be due,
// and not before.
func TestSweep_LooksAtTheRunsWhenOneIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		c := newCluster(ran("kept", 2*time.Hour, func(r *run) { r.ttl = ptr.To[int32](0) }), ran("soon", 58*time.Minute), ran("later", 30*time.Minute))
		looks := 0
		s, err := expire.New(c.runs, func() []any { looks++; return c.store }, finished, answeredAt(start), expire.Options{TTL: time.Hour})
		require.NoError(t, err)
		sweep := func(after time.Duration, wantLooks int, reason string) {
			t.Helper()
			time.Sleep(after)
			_, err := s.Sweep(t.Context(), time.Now())
			require.NoError(t, err)
			require.Equal(t, wantLooks, looks, reason)
		}
		s.OnAdd(&batchv1.Job{}, true)
		sweep(0, 1, "it does not follow the informer of the runs yet")
		for _, item := range c.store {
			s.OnAdd(item, true)
		}
		sweep(time.Minute, 1, "soon is due in a minute")
		sweep(time.Minute, 2, "it is due")
		assert.Equal(t, []string{"soon"}, c.asked)
		sweep(time.Minute, 3, "it is in the store still, so it may not be deleted")
		c.store = c.store[:1]
		s.OnDelete(c.live["soon"])
		sweep(time.Minute, 4, "that sweep finds none")
		sweep(1000*time.Hour, 4, "kept is never due")

		added := ran("added", 0)
		added.finished = time.Now()
		c.live["added"], c.store = added, append(c.store, added)
		s.OnUpdate(nil, added)
		sweep(59*time.Minute, 4, "not yet")
		sweep(time.Minute, 5, "an hour after its finish")
		assert.Equal(t, []string{"soon", "soon", "added"}, c.asked)
	})
}

// A run that the informer stores while a sweep reads the store is not
// forgotten.
func TestOnAdd_DuringASweepCounts(t *testing.T) {
	c := newCluster()
	var s *expire.Sweeper
	list := func() []any {
		store := c.store
		if late := ran("late", 2*time.Hour); len(store) == 0 {
			c.live["late"], c.store = late, []any{late}
			s.OnAdd(late, false)
		}
		return store
	}
	s, err := expire.New(c.runs, list, finished, answeredAt(time.Now()), expire.Options{TTL: time.Hour})
	require.NoError(t, err)
	for _, want := range []int{0, 1} {
		deleted, err := s.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
		assert.Equal(t, want, deleted)
	}
}

func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		c := newCluster(ran("a", 2*time.Hour), ran("b", 59*time.Minute))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		s := newSweeper(t, c, expire.Options{}) // a stays in the store: no informer removes it
		go func() { ended <- s.Start(ctx) }()
		time.Sleep(90 * time.Second)
		cancel()
		require.NoError(t, <-ended)
		assert.Equal(t, []string{"a", "b", "a"}, c.asked, "immediately, then every minute; a run that was tried goes last")
	})
}

// Start logs deletions and failures, and nothing else: not a sweep that found
// nothing, and not the error of a ctx that has ended.
func TestStartLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		var lines []string
		log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), log))
		c := newCluster(ran("fine", 3*time.Hour), ran("stuck", 2*time.Hour))
		sweeps := 0
		c.refuse = func(name string) error {
			if name == "fine" {
				return nil
			}
			if sweeps++; sweeps == 3 {
				cancel()
			}
			return errors.New("a webhook says no")
		}
		require.NoError(t, newSweeper(t, c, expire.Options{}).Start(ctx))
		idle, stop := context.WithTimeout(logr.NewContext(t.Context(), log), time.Minute)
		defer stop()
		require.NoError(t, newSweeper(t, newCluster(), expire.Options{}).Start(idle))
		require.Len(t, lines, 3)
		assert.Contains(t, lines[0], `"msg"="Deleted runs whose retention is over" "deleted"=1`)
		for _, line := range lines[1:] {
			assert.Contains(t, line, `"error"="jobgc/expire: ns/stuck: a webhook says no"`)
		}
	})
}

func TestNew_ReportsAllBadInput(t *testing.T) {
	_, err := expire.New[*run, *cluster](nil, nil, nil, nil, expire.Options{TTL: 30 * time.Second, Interval: -1})
	require.EqualError(t, err, `jobgc/expire: new: client is nil; want a function that returns the client of a namespace
jobgc/expire: new: list is nil; want the List of a store
jobgc/expire: new: finished is nil; want a function that returns when a run finished
jobgc/expire: new: server is nil; want a ServerTime whose Wrap the rest.Config of the client has
jobgc/expire: new: Options.TTL: 30s is not accepted; want 0 to keep, or at least 1m0s
jobgc/expire: new: Options.Interval: -1ns is not accepted; want a positive duration, or 0 for a minute`)
	c := newCluster()
	_, err = expire.New(c.runs, c.list, finished, nil, expire.Options{})
	require.Error(t, err, "one is enough")
	for _, ttl := range []time.Duration{0, time.Minute} {
		_, err = expire.New(c.runs, c.list, finished, answeredAt(start), expire.Options{TTL: ttl})
		require.NoError(t, err)
	}
}

func TestSweeper_NotMadeByNewIsAnError(t *testing.T) {
	var none *expire.Sweeper
	for _, s := range []*expire.Sweeper{none, {}} {
		_, err := s.Sweep(t.Context(), start)
		require.EqualError(t, err, "jobgc/expire: the Sweeper is nil or empty; make it with New")
		require.EqualError(t, s.Start(t.Context()), err.Error())
		s.OnAdd(ran("a", 2*time.Hour), false)
	}
}

// Two runs have finished; the retention is one hour.
func ExampleSweeper_Sweep() {
	cluster := newCluster(ran("two-hours-ago", 2*time.Hour), ran("just-now", time.Second)) // clientset and informer
	server := answeredAt(start)                                                            // its Wrap is in the rest.Config
	sweeper, err := expire.New(cluster.runs, cluster.list, finished, server, expire.Options{TTL: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	deleted, err := sweeper.Sweep(context.Background(), start) // Start does it every minute
	fmt.Println(deleted, err, len(cluster.live), cluster.asked)
	// Output: 1 <nil> 1 [two-hours-ago]
}
