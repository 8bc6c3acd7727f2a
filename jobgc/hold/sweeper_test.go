// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc/hold"
)

func TestSweep(t *testing.T) {
	elsewhere := func(o *metav1.PartialObjectMetadata) { o.Namespace = "elsewhere" }
	cases := map[string]struct {
		reason string
		setup  func(*cluster)
		opts   hold.Options
		held   []string
	}{
		"Nothing":   {"No Job is held.", func(*cluster) {}, hold.Options{}, nil},
		"OwnerGone": {"No controller will record its result.", func(c *cluster) { c.job("a", "gone") }, hold.Options{}, nil},
		"OwnerThere": {
			"The owner must still record the result, also while the Job is being deleted.",
			func(c *cluster) { c.owner("run"); c.job("a", "run"); c.job("b", "run", deleting) },
			hold.Options{},
			[]string{"a", "b"},
		},
		"OwnerCreatedAnew": {"The uid counts, not the name.", func(c *cluster) { c.owner("new"); c.job("a", "old") }, hold.Options{}, nil},
		"NoOwner":          {"The owner was deleted and left its Jobs behind.", func(c *cluster) { c.job("a", "") }, hold.Options{}, nil},
		"NotHeld": {"Jobs without the finalizer are not changed.", func(c *cluster) {
			c.job("a", "gone", func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"example.com/theirs"} })
		}, hold.Options{}, nil},
		"ManyPages": {"All pages of both lists are read.", func(c *cluster) {
			c.owner("run-1", "run-2", "run-3", "run-4", "run-5")
			for _, j := range []string{"1", "2", "3", "4", "5"} {
				c.job("keep-"+j, runUID(j))
				c.job("drop-"+j, runUID("x"+j))
			}
		}, hold.Options{}, []string{"keep-1", "keep-2", "keep-3", "keep-4", "keep-5"}},
		"OneNamespace": {
			"Only the given namespace is swept.", func(c *cluster) { c.job("a", "gone", elsewhere); c.job("b", "gone") },
			hold.Options{Namespace: "ns"},
			[]string{"a"},
		},
		"Selector": {
			"Only Jobs that match the selector are released.", func(c *cluster) {
				c.job("a", "gone")
				c.job("b", "gone", func(o *metav1.PartialObjectMetadata) { o.Labels = map[string]string{"selected": "yes"} })
			},
			hold.Options{Selector: "selected"},
			[]string{"a"},
		},
		"OwnerDeleted": {"In the foreground the deletion of the run waits for its Job. Otherwise a finalizer of the run may wait for the result.", func(c *cluster) {
			c.owner("run", "other")
			c.owners[0].DeletionTimestamp = ptr.To(metav1.Now())
			c.job("a", "run", deleting)
			c.job("b", "run")
			c.job("c", "other", deleting)
		}, hold.Options{}, []string{"b", "c"}},
		"OwnerWaits": {"A finalizer of the run waits for the result, also in the foreground.", func(c *cluster) {
			c.owner("run")
			c.owners[0].DeletionTimestamp, c.owners[0].Finalizers = ptr.To(metav1.Now()), []string{"foregroundDeletion", "example.com/result"}
			c.job("a", "run", deleting)
		}, hold.Options{}, []string{"a"}},
		"ListExpires": {"The list starts again.", func(c *cluster) {
			c.owner("run-1", "run-2", "run-3")
			for _, j := range []string{"x", "1", "2", "3"} {
				c.job(j, runUID(j))
			}
			c.expire = 3
		}, hold.Options{}, []string{"1", "2", "3"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &cluster{}
			tc.setup(c)
			before := c.stillHeld()
			report, err := newSweeper(t, c, tc.opts).Sweep(t.Context())
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.held, c.stillHeld(), tc.reason)
			assert.Equal(t, len(before)-len(tc.held), report.Released)
			assert.Equal(t, report.Released, c.patches, "a hold that stays is not touched")
		})
	}
}

func TestSweep_LeavesTheFinalizersOfOthers(t *testing.T) {
	c := &cluster{}
	c.job("a", "gone", func(o *metav1.PartialObjectMetadata) {
		o.Finalizers = []string{"foregroundDeletion", finalizer, "example.com/theirs"}
	})
	_, err := newSweeper(t, c, hold.Options{}).Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"foregroundDeletion", "example.com/theirs"}, c.jobs[0].Finalizers)
}

// A list that takes longer than the API server keeps its pages would never end.
// The third attempt therefore reads one page.
func TestSweepListsTheThirdTimeAsOnePage(t *testing.T) {
	for expire, pages := range []int{3, 2 + 3, 2 + 2 + 1} {
		c := &cluster{expire: expire}
		many(c, 5, "gone")
		report, err := newSweeper(t, c, hold.Options{}).Sweep(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 5, report.Released)
		assert.Equal(t, pages+1, c.lists, "and one of owners")
	}
}

// A run and its Job that are created between the two lists must not look like a
// Job without a run.
func TestSweepListsOwnersAfterJobs(t *testing.T) {
	c := &cluster{}
	c.job("a", "run-a")
	c.owner("run-a")
	c.listed = func() {
		c.listed = nil
		c.owner("run-b")
		c.job("b", "run-b")
	}
	_, err := newSweeper(t, c, hold.Options{}).Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, c.stillHeld())
}

// A failed list does not mean that the objects are gone.
func TestSweepFails(t *testing.T) {
	c := &cluster{fail: errDown}
	c.job("a", "gone")
	held := 0
	_, err := newSweeper(t, c, hold.Options{OnSweep: func(n int, _ time.Duration) { held = n }}).Sweep(t.Context())
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "jobgc/hold: list owners: ")
	assert.Equal(t, []string{"a"}, c.stillHeld())
	assert.Equal(t, 1, held, "the gauge of the documented alert does not freeze")
}

func TestSweepIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		many(c, 7, "gone")
		time.Sleep(time.Until(start.Add(10 * time.Hour)))
		var held int
		var oldest time.Duration
		s := newSweeper(t, c, hold.Options{MaxPerSweep: 3, OnSweep: func(h int, o time.Duration) { held, oldest = h, o }})
		report, err := s.Sweep(t.Context())
		require.NoError(t, err)
		assert.Equal(t, hold.Report{Held: 4, Oldest: 7 * time.Hour, Released: 3}, report)
		assert.Equal(t, []string{"job-3", "job-4", "job-5", "job-6"}, c.stillHeld(), "the oldest went first")
		assert.Equal(t, 4, held)
		assert.Equal(t, 7*time.Hour, oldest)
	})
}

// One Job that cannot be released does not keep the others, and not every
// refusal is named.
func TestSweepGoesOn(t *testing.T) {
	refused := errors.New("a webhook says no")
	c := &cluster{refuse: func(name string) error {
		if name == "job-3" {
			return nil
		}
		return refused
	}}
	many(c, 9, "gone")
	report, err := newSweeper(t, c, hold.Options{}).Sweep(t.Context())
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "ns/job-0")
	require.ErrorContains(t, err, "and 3 more")
	assert.Equal(t, 1, report.Released)
	assert.Equal(t, 8, report.Held)
}

// Jobs that cannot be released must not use up the limit forever, even if there
// are many.
func TestSweepGoesRoundWhatCannotBeReleased(t *testing.T) {
	refused := errors.New("a webhook says no")
	c := &cluster{refuse: func(name string) error {
		if name == "job-8" || name == "job-9" {
			return nil
		}
		return refused
	}}
	many(c, 10, "gone") // job-9 is the youngest
	s := newSweeper(t, c, hold.Options{MaxPerSweep: 3})
	for _, released := range []int{0, 0, 1, 1, 0} {
		report, err := s.Sweep(t.Context())
		require.ErrorIs(t, err, refused)
		assert.Equal(t, released, report.Released)
	}
	assert.Len(t, c.stillHeld(), 8)
	assert.Equal(t, 15, c.patches, "the limit is kept")
}

func TestReleaseAll(t *testing.T) {
	c := &cluster{}
	c.owner("run")
	many(c, 5, "run")
	s := newSweeper(t, c, hold.Options{MaxPerSweep: 1})
	report, err := s.ReleaseAll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, hold.Report{Released: 5}, report, "no limit")
	assert.Empty(t, c.stillHeld())
	report, err = s.ReleaseAll(t.Context())
	require.NoError(t, err)
	assert.Zero(t, report)
}

func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		c.job("a", "gone")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		s := newSweeper(t, c, hold.Options{MaxPerSweep: 2})
		go func() { ended <- s.Start(ctx) }()
		synctest.Wait()
		assert.Empty(t, c.stillHeld(), "released immediately")
		c.meanwhile(func() { c.job("b", "gone") })
		time.Sleep(59*time.Minute + 30*time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"b"}, c.stillHeld())
		c.meanwhile(func() { c.fail = errDown })
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"b"}, c.stillHeld())
		c.meanwhile(func() {
			c.fail = nil
			many(c, 3, "gone")
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, c.stillHeld(), 2, "after a failure it tries again soon")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, c.stillHeld(), "the same after a sweep that reached the limit")
		cancel()
		require.NoError(t, <-ended)
	})
}

// Start logs releases and failures, and nothing else.
func TestStartLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), log))
		c := &cluster{}
		c.job("a", "gone")
		sweeps := 0
		s := newSweeper(t, c, hold.Options{OnSweep: func(int, time.Duration) {
			switch sweeps++; sweeps {
			case 2: // which found nothing
				c.fail = errDown
				c.job("b", "gone")
			case 5: // two failed
				cancel()
			}
		}})
		time.AfterFunc(2*time.Hour+90*time.Second, func() { c.meanwhile(func() { c.fail = nil }) })
		require.NoError(t, s.Start(ctx))
		require.Len(t, lines, 4)
		const released = `"msg"="Released Jobs that no owner waits for" "released"=1 "held"=0`
		const failed = `"error"="jobgc/hold: list owners: the API server does not answer" "released"=0`
		for i, want := range []string{released, failed, failed, released} {
			assert.Contains(t, lines[i], want)
		}
	})
}

func TestNew_ReportsAllBadInput(t *testing.T) {
	_, err := hold.New[client, client](nil, nil, "result", hold.Options{Interval: -1, MaxPerSweep: -1})
	require.EqualError(t, err, `jobgc/hold: new: jobs is nil; want a function that returns the Job client of a namespace
jobgc/hold: new: owners is nil; want a function that returns the owners' client of a namespace
jobgc/hold: new: finalizer: "result" is not accepted; want that of jobgc.Options.Finalizer, such as agents.example.com/result
jobgc/hold: new: Options.Interval: -1ns is not accepted; want a positive duration, or 0 for an hour
jobgc/hold: new: Options.MaxPerSweep: -1 is not accepted; want a positive number, or 0 for 500`)
	c := &cluster{}
	for _, name := range []string{"", "foregroundDeletion", "a/b/c"} {
		_, err = hold.New(c.jobsIn, c.ownersIn, name, hold.Options{})
		require.ErrorContains(t, err, "want that of jobgc.Options.Finalizer")
	}
}

func TestSweeper_NotMadeByNewIsAnError(t *testing.T) {
	var none *hold.Sweeper
	for _, s := range []*hold.Sweeper{none, {}} {
		_, err := s.Sweep(t.Context())
		require.EqualError(t, err, "jobgc/hold: the Sweeper is nil or empty; make it with New")
		_, all := s.ReleaseAll(t.Context())
		require.EqualError(t, all, err.Error())
		require.EqualError(t, s.Start(t.Context()), err.Error())
		require.EqualError(t, s.ReleaseOrphan(t.Context(), nil), err.Error())
	}
}

func TestSweep_KeepsTheTurnsIfTheOwnersCannotBeListed(t *testing.T) {
	c := &cluster{refuse: func(name string) error {
		if name == "a" {
			return errDown
		}
		return nil
	}}
	c.job("a", "gone")
	c.job("b", "gone")
	s := newSweeper(t, c, hold.Options{MaxPerSweep: 1})
	_, err := s.Sweep(t.Context())
	require.ErrorIs(t, err, errDown)
	c.fail = errDown
	_, err = s.Sweep(t.Context())
	require.ErrorIs(t, err, errDown)
	c.fail = nil
	_, err = s.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, c.stillHeld(), "b's turn")
}

func TestSweeper_WithoutAClientIsAnError(t *testing.T) {
	c := &cluster{}
	c.job("a", "gone")
	held := &c.jobs[0]
	none := func(string) hold.Jobs { return nil }
	never := func(string) hold.Owners { return (*client)(nil) }
	jobs := func(namespace string) hold.Jobs { return c.jobsIn(namespace) }
	owners := func(namespace string) hold.Owners { return c.ownersIn(namespace) }
	const wantJobs = "the client of namespace %q is nil; return a client that can list and patch Jobs"
	const wantOwners = "the client of namespace %q is nil; return a client that can list the owners"

	s, err := hold.New(none, owners, finalizer, hold.Options{Namespace: "ns"})
	require.NoError(t, err)
	_, err = s.Sweep(t.Context())
	require.EqualError(t, err, "jobgc/hold: list Jobs: "+fmt.Sprintf(wantJobs, "ns"))
	require.EqualError(t, s.ReleaseOrphan(t.Context(), held), "jobgc/hold: removeFinalizer: ns/a: "+fmt.Sprintf(wantJobs, "ns"))

	s, err = hold.New(jobs, never, finalizer, hold.Options{})
	require.NoError(t, err)
	_, err = s.Sweep(t.Context())
	require.EqualError(t, err, "jobgc/hold: list owners: "+fmt.Sprintf(wantOwners, ""))
	require.EqualError(t, s.ReleaseOrphan(t.Context(), held), "jobgc/hold: list owners: "+fmt.Sprintf(wantOwners, "ns"))
	assert.Equal(t, []string{"a"}, c.stillHeld())
}
