// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	finalizers "github.com/proompteng/controllerkit/jobgc/internal/finalizer"
	"github.com/proompteng/controllerkit/jobgc/internal/sweep"
)

// Options of a Sweeper. The zero value sweeps all namespaces every hour.
type Options struct {
	// Namespace to sweep. Zero means all.
	Namespace string

	// Selector is a label selector that all held Jobs match; it makes the list
	// shorter. Zero means all Jobs.
	Selector string

	// Interval is how long Start waits between two sweeps. After a sweep that
	// failed or reached the limit, it waits at most a minute. Zero means an
	// hour.
	Interval time.Duration

	// MaxPerSweep is how many Jobs are released in one sweep at most. Zero
	// means 500.
	MaxPerSweep int

	// OnSweep, if set, is called after each sweep and each ReleaseAll that
	// could list the Jobs. It receives how many Jobs are held and how long ago
	// the oldest of them was created. It must be safe for concurrent use if
	// these methods are called concurrently.
	OnSweep func(held int, oldest time.Duration)

	_ struct{}
}

// Report is what one sweep has found and done.
type Report struct {
	Held     int           // Jobs that are held still
	Oldest   time.Duration // since the creation of the oldest of them
	Released int           // Jobs that were released, or gone by then
}

// Sweeper finds held Jobs that no controller will release. Make it with New:
// the methods of a nil Sweeper, or of one that New did not make, return an
// error. They may be called concurrently and by several replicas. Only one of
// them removes each finalizer. The others get an error for it, because the API
// server refuses their patch.
type Sweeper struct {
	jobs   func(namespace string) Jobs
	owners func(namespace string) Owners
	hold   string // the finalizer
	opts   Options
	turns  sweep.Turns
}

// New returns a Sweeper and makes no request. The functions jobs and owners
// return the clients of a namespace, or of all namespaces for "". The finalizer
// is jobgc.Options.Finalizer. Give each kind of owners its own: a Job with this
// finalizer that another kind controls has no owner here, and is released. A
// nil function, a finalizer without domain or name, and negative options are
// errors, and New reports all of them.
func New[J Jobs, O Owners](
	jobs func(namespace string) J, owners func(namespace string) O, finalizer string, opts Options,
) (*Sweeper, error) {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("jobgc/hold: new: "+format, args...))
	}
	if jobs == nil {
		refuse("jobs is nil; want a function that returns the Job client of a namespace")
	}
	if owners == nil {
		refuse("owners is nil; want a function that returns the owners' client of a namespace")
	}
	if !finalizers.IsName(finalizer) {
		refuse("finalizer: %q is not accepted; want that of jobgc.Options.Finalizer, such as "+
			"agents.example.com/result", finalizer)
	}
	if opts.Interval < 0 {
		refuse("Options.Interval: %s is not accepted; want a positive duration, or 0 for an hour",
			opts.Interval)
	}
	if opts.MaxPerSweep < 0 {
		refuse("Options.MaxPerSweep: %d is not accepted; want a positive number, or 0 for 500",
			opts.MaxPerSweep)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	opts.Interval = cmp.Or(opts.Interval, time.Hour)
	opts.MaxPerSweep = cmp.Or(opts.MaxPerSweep, 500)
	return &Sweeper{
		jobs:   func(namespace string) Jobs { return jobs(namespace) },
		owners: func(namespace string) Owners { return owners(namespace) },
		hold:   finalizer, opts: opts,
	}, nil
}

func (s *Sweeper) made() bool { return s != nil && s.jobs != nil }

func errNotMade() error {
	return errors.New("jobgc/hold: the Sweeper is nil or empty; make it with New")
}

// Start sweeps immediately and then every Options.Interval. When ctx ends it
// returns nil. Releases and failures go to the context's logger.
func (s *Sweeper) Start(ctx context.Context) error {
	if !s.made() {
		return errNotMade()
	}
	log := logr.FromContextOrDiscard(ctx).WithName("hold")
	sweep.Loop(ctx, func() (wait time.Duration) {
		soon := min(s.opts.Interval, time.Minute)
		report, err := s.Sweep(ctx)
		if err != nil {
			if ctx.Err() == nil {
				log.Error(err, "The sweep failed; the next one tries again", "released", report.Released)
			}
			return soon
		}
		if report.Released > 0 {
			log.Info("Released Jobs that no owner waits for",
				"released", report.Released, "held", report.Held)
		}
		if report.Released == s.opts.MaxPerSweep {
			return soon // there may be more
		}
		return s.opts.Interval
	})
	return nil
}

// Sweep lists the held Jobs and releases the Jobs that no controller will
// release: Jobs without an owner, Jobs whose owner is gone, and Jobs that are
// being deleted together with their owner, unless a finalizer of a controller
// keeps the owner. Sweep lists the owners after the Jobs, so that a missing
// owner has been deleted and is not merely new. A Job that cannot be released
// does not block the others. With an error, the Report has what was done before
// it. If listing fails, nothing is released. If ctx ends, Sweep stops and
// returns its error.
func (s *Sweeper) Sweep(ctx context.Context) (Report, error) {
	if !s.made() {
		return Report{}, errNotMade()
	}
	held, err := s.held(ctx)
	if err != nil {
		return Report{}, err
	}
	abandoned, err := s.abandoned(ctx, held)
	if err != nil {
		return s.report(held, nil), err
	}
	return s.release(ctx, held, abandoned, s.opts.MaxPerSweep)
}

// ReleaseAll releases every held Job in Options.Namespace that Options.Selector
// selects, even if its owner exists. It is the uninstall step. Stop the
// controller first, or it creates new held Jobs. ReleaseAll goes on when a
// release fails, and the error names the failed ones. Call it until it returns
// nil.
func (s *Sweeper) ReleaseAll(ctx context.Context) (Report, error) {
	if !s.made() {
		return Report{}, errNotMade()
	}
	held, err := s.held(ctx)
	if err != nil {
		return Report{}, err
	}
	return s.release(ctx, held, held, math.MaxInt)
}

// release releases chosen ones of the held Jobs, the oldest first and at most
// limit. A Job that an earlier sweep failed to release goes behind the others.
func (s *Sweeper) release(
	ctx context.Context, held, chosen []*metav1.PartialObjectMetadata, limit int,
) (Report, error) {
	done := map[types.UID]bool{}
	err := sweep.Each(ctx, &s.turns, chosen, limit, func(job *metav1.PartialObjectMetadata) error {
		err := s.removeFinalizer(ctx, job)
		done[job.UID] = err == nil
		return err
	})
	return s.report(held, done), err
}

// report counts the held Jobs, which are sorted by age, and calls OnSweep.
func (s *Sweeper) report(held []*metav1.PartialObjectMetadata, released map[types.UID]bool) Report {
	var r Report
	for _, job := range held {
		if released[job.UID] {
			r.Released++
			continue
		}
		if r.Held == 0 {
			r.Oldest = max(0, time.Since(job.CreationTimestamp.Time))
		}
		r.Held++
	}
	if s.opts.OnSweep != nil {
		s.opts.OnSweep(r.Held, r.Oldest)
	}
	return r
}
