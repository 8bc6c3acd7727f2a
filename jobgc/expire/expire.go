// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expire deletes finished runs whose retention is over.
//
// A run is the object that owns a Job, of any kind. It expires when
// jobgc.Retention.RunTTL has passed since it finished. The run's own
// ttlSecondsAfterFinished overrides RunTTL. Here 0 or less keeps the run; on a
// Job, 0 means immediate deletion. The annotation Retention.Retain keeps it
// with 1, true, yes, y, on, keep or forever. A [Sweeper] deletes the expired
// runs. It reads the informer's store and makes no request while there is
// nothing to delete:
//
//	sweeper, err := expire.New(runs, informer.GetStore().List, finished, keep, expire.Options{})
//	err = sweeper.Start(ctx) // blocks; fits manager.Add
//
// A sweep looks at every run. If there are tens of thousands, also register the
// Sweeper as an event handler. It then looks at them only if one may be due:
//
//	_, err = informer.AddEventHandler(sweeper)
//
// # Guarantees
//
// Every deletion carries the run's uid and resourceVersion as preconditions. A
// run that was edited, retained or recreated since it was read therefore stays,
// and the next sweep decides again. One sweep makes at most Options.MaxPerSweep
// deletions, the most overdue first. A run that cannot be deleted does not
// block the others. The garbage collector deletes what a run owns, in the
// background.
//
// # RBAC
//
// The runs' kind: delete; list and watch for the informer.
//
// # When not to use it
//
// Do not use it where something else keeps the history, such as a database that
// the runs are copied to. Never use it on runs that another controller has yet
// to read.
package expire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/internal/fairness"
)

// Runs deletes runs of one namespace. A typed client of client-go satisfies it.
// A dynamic client needs a wrapper, because its Delete also takes subresources.
type Runs interface {
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Options of a Sweeper. The zero value is what most controllers want.
type Options struct {
	// Interval is how long Start waits between two sweeps. Zero means a minute.
	Interval time.Duration

	// MaxPerSweep is how many deletions one sweep makes at most. Zero
	// means 100.
	MaxPerSweep int

	_ struct{}
}

// Sweeper deletes runs of type R. Make it with New: Start and Sweep of a nil
// Sweeper, or of one that New did not make, return an error. These two must not
// be called concurrently; several replicas may each have a Sweeper. It is an
// event handler of the runs' informer: OnAdd, OnUpdate and OnDelete may be
// called at any time.
type Sweeper[R metav1.Object, C Runs] struct {
	client   func(namespace string) C
	list     func() []any
	finished func(run R) (at time.Time, own *int32)
	keep     jobgc.Retention
	opts     Options
	turns    fairness.Turns

	mu      sync.Mutex
	follows bool      // the informer
	next    time.Time // the first run may be due then, if it follows; zero if none
}

// New returns a Sweeper and makes no request. The function client returns the
// client of a namespace. The function list is a store's List, such as
// informer.GetStore().List; items that are not an R are ignored. The function
// finished returns when a run finished, or zero if it has not, and the run's
// own ttlSecondsAfterFinished, or nil if it has none. Of keep only RunTTL and
// Retain count. A nil function, negative options and a RunTTL below a minute
// are errors, and New reports all of them.
func New[R metav1.Object, C Runs](
	client func(namespace string) C, list func() []any, finished func(run R) (at time.Time, own *int32), keep jobgc.Retention, opts Options,
) (*Sweeper[R, C], error) {
	var errs []error
	if client == nil {
		errs = append(errs, errors.New("jobgc/expire: new: client is nil; want a function that returns the client of a namespace"))
	}
	if list == nil {
		errs = append(errs, errors.New("jobgc/expire: new: list is nil; want the List of a store"))
	}
	if finished == nil {
		errs = append(errs, errors.New("jobgc/expire: new: finished is nil; want a function that returns when a run finished"))
	}
	if keep.RunTTL != 0 && keep.RunTTL < time.Minute {
		errs = append(errs, fmt.Errorf("jobgc/expire: new: Retention.RunTTL: %s is not accepted; want 0 to keep, or at least 1m0s", keep.RunTTL))
	}
	if opts.Interval < 0 {
		errs = append(errs, fmt.Errorf("jobgc/expire: new: Options.Interval: %s is not accepted; want a positive duration, or 0 for a minute", opts.Interval))
	}
	if opts.MaxPerSweep < 0 {
		errs = append(errs, fmt.Errorf("jobgc/expire: new: Options.MaxPerSweep: %d is not accepted; want a positive number, or 0 for 100", opts.MaxPerSweep))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if opts.Interval == 0 {
		opts.Interval = time.Minute
	}
	if opts.MaxPerSweep == 0 {
		opts.MaxPerSweep = 100
	}
	return &Sweeper[R, C]{client: client, list: list, finished: finished, keep: keep, opts: opts}, nil
}

func (s *Sweeper[R, C]) made() bool { return s != nil && s.client != nil }

func errNotMade() error {
	return errors.New("jobgc/expire: the Sweeper is nil or empty; make it with New")
}

// Start sweeps immediately and then every Options.Interval. When ctx ends it
// returns nil. Call it when the store is filled. Deletions and failures go to
// the context's logger.
func (s *Sweeper[R, C]) Start(ctx context.Context) error {
	if !s.made() {
		return errNotMade()
	}
	log := logr.FromContextOrDiscard(ctx).WithName("expire")
	for {
		deleted, err := s.Sweep(ctx, time.Now())
		if deleted > 0 {
			log.Info("Deleted runs whose retention is over", "deleted", deleted)
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "Could not delete some runs; the next sweep tries again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.opts.Interval):
		}
	}
}

// OnAdd notes when a run of the informer may be due. After the first call,
// Sweep skips the runs until one may be due.
func (s *Sweeper[R, C]) OnAdd(obj any, _ bool) {
	run, ok := obj.(R)
	if !ok || !s.made() {
		return
	}
	now := time.Now()
	at, own := s.finished(run)
	in, ever := expiresIn(run, at, own, s.keep, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follows = true
	s.expect(in, ever, now)
}

// OnUpdate notes when a run that has changed may be due.
func (s *Sweeper[R, C]) OnUpdate(_, obj any) { s.OnAdd(obj, false) }

// OnDelete does nothing: the run is no longer in the store.
func (s *Sweeper[R, C]) OnDelete(any) {}

// expect keeps the time at which a run is due, if it is the first one. The
// caller holds mu.
func (s *Sweeper[R, C]) expect(in time.Duration, ever bool, now time.Time) {
	if !ever {
		return
	}
	if due := now.Round(0).Add(max(in, 0)); s.next.IsZero() || due.Before(s.next) { // of the wall clock, as the finish of a run is
		s.next = due
	}
}

// begin reports whether a sweep has to look at the runs, and forgets when the
// next one is due. OnAdd may be called from then on.
func (s *Sweeper[R, C]) begin(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follows && (s.next.IsZero() || now.Before(s.next)) {
		return false
	}
	s.next = time.Time{}
	return true
}

// Sweep deletes the runs that have expired by now, the most overdue first. A
// run that an earlier sweep failed to delete goes behind the others. A run that
// has changed or is gone since it was read is not an error. The error names the
// first few runs that could not be deleted. If ctx ends, Sweep stops and
// returns its error.
func (s *Sweeper[R, C]) Sweep(ctx context.Context, now time.Time) (deleted int, err error) {
	if !s.made() {
		return 0, errNotMade()
	}
	if !s.begin(now) {
		return 0, nil
	}
	var due []overdue[R]
	for _, item := range s.list() {
		run, ok := item.(R)
		if !ok {
			continue
		}
		at, own := s.finished(run)
		in, ever := expiresIn(run, at, own, s.keep, now)
		s.mu.Lock()
		s.expect(in, ever, now) // also for one that is deleted now: it may stay
		s.mu.Unlock()
		if ever && in <= 0 {
			due = append(due, overdue[R]{run, -in})
		}
	}
	slices.SortStableFunc(due, func(a, b overdue[R]) int { return cmp.Compare(b.by, a.by) })
	more := 0
	var errs []error
	for _, d := range fairness.Next(&s.turns, due, s.opts.MaxPerSweep) {
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
		gone, err := notfound.Is(s.remove(ctx, d.run), schema.GroupResource{}, d.run.GetName())
		switch {
		case gone || notfound.Changed(err, d.run.GetName()):
		case err == nil:
			deleted++
		default:
			if len(errs) == 5 {
				more++
				continue
			}
			errs = append(errs, fmt.Errorf("jobgc/expire: %s/%s: %w", d.run.GetNamespace(), d.run.GetName(), err))
		}
	}
	if more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return deleted, errors.Join(errs...)
}

// overdue is a run that has expired.
type overdue[R metav1.Object] struct {
	run R
	by  time.Duration
}

func (o overdue[R]) GetUID() types.UID { return o.run.GetUID() }

// remove deletes the run only if it has not changed since it was read.
func (s *Sweeper[R, C]) remove(ctx context.Context, run R) error {
	client := s.client(run.GetNamespace())
	if isnil.Is(client) {
		return fmt.Errorf("the client of namespace %q is nil; return a client that can delete runs", run.GetNamespace())
	}
	return client.Delete(ctx, run.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: ptr.To(run.GetUID()), ResourceVersion: ptr.To(run.GetResourceVersion())},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
}
