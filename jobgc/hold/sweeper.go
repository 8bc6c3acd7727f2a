// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc/internal/fairness"
	finalizers "github.com/proompteng/controllerkit/jobgc/internal/finalizer"
)

// Owners lists the metadata of the Jobs' owners in one namespace, or in all. A
// metadata.ResourceInterface of client-go satisfies it. Reads must be live: a
// cache that lags behind lacks new owners.
type Owners interface {
	List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error)
}

// Jobs lists and patches the metadata of Jobs. A metadata.ResourceInterface of
// client-go satisfies it.
type Jobs interface {
	Owners
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*metav1.PartialObjectMetadata, error)
}

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
type Sweeper[J Jobs, O Owners] struct {
	jobs   func(namespace string) J
	owners func(namespace string) O
	hold   string
	opts   Options
	turns  fairness.Turns
}

// New returns a Sweeper and makes no request. The functions jobs and owners
// return the clients of a namespace, or of all namespaces for "". The finalizer
// is jobgc.Options.Finalizer. Give each kind of owners its own: a Job with this
// finalizer that another kind controls has no owner here, and is released. A
// nil function, a finalizer without domain or name, and negative options are
// errors, and New reports all of them.
func New[J Jobs, O Owners](jobs func(namespace string) J, owners func(namespace string) O, finalizer string, opts Options) (*Sweeper[J, O], error) {
	var errs []error
	if jobs == nil {
		errs = append(errs, errors.New("jobgc/hold: new: jobs is nil; want a function that returns the Job client of a namespace"))
	}
	if owners == nil {
		errs = append(errs, errors.New("jobgc/hold: new: owners is nil; want a function that returns the owners' client of a namespace"))
	}
	if !finalizers.IsName(finalizer) {
		errs = append(errs, fmt.Errorf("jobgc/hold: new: finalizer: %q is not accepted; want that of jobgc.Options.Finalizer, such as agents.example.com/result", finalizer))
	}
	if opts.Interval < 0 {
		errs = append(errs, fmt.Errorf("jobgc/hold: new: Options.Interval: %s is not accepted; want a positive duration, or 0 for an hour", opts.Interval))
	}
	if opts.MaxPerSweep < 0 {
		errs = append(errs, fmt.Errorf("jobgc/hold: new: Options.MaxPerSweep: %d is not accepted; want a positive number, or 0 for 500", opts.MaxPerSweep))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if opts.Interval == 0 {
		opts.Interval = time.Hour
	}
	if opts.MaxPerSweep == 0 {
		opts.MaxPerSweep = 500
	}
	return &Sweeper[J, O]{jobs: jobs, owners: owners, hold: finalizer, opts: opts}, nil
}

func (s *Sweeper[J, O]) made() bool { return s != nil && s.jobs != nil }

func errNotMade() error {
	return errors.New("jobgc/hold: the Sweeper is nil or empty; make it with New")
}

// Start sweeps immediately and then every Options.Interval. When ctx ends it
// returns nil. Releases and failures go to the context's logger.
func (s *Sweeper[J, O]) Start(ctx context.Context) error {
	if !s.made() {
		return errNotMade()
	}
	log := logr.FromContextOrDiscard(ctx).WithName("hold")
	for {
		wait := s.opts.Interval
		report, err := s.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Error(err, "The sweep failed; the next one tries again", "released", report.Released)
			wait = min(wait, time.Minute)
		case report.Released > 0:
			log.Info("Released Jobs that no owner waits for", "released", report.Released, "held", report.Held)
			if report.Released == s.opts.MaxPerSweep {
				wait = min(wait, time.Minute) // there may be more
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Sweep lists the held Jobs and releases the Jobs that no controller will
// release: Jobs without an owner, Jobs whose owner is gone, and Jobs that are
// being deleted together with their owner, unless a finalizer of a controller
// keeps the owner. Sweep lists the owners after the Jobs, so that a missing
// owner has been deleted and is not merely new. A Job that cannot be released
// does not block the others. With an error, the Report has what was done before
// it. If listing fails, nothing is released. If ctx ends, Sweep stops and
// returns its error.
func (s *Sweeper[J, O]) Sweep(ctx context.Context) (Report, error) {
	if !s.made() {
		return Report{}, errNotMade()
	}
	return s.release(ctx, s.opts.MaxPerSweep, s.abandoned)
}

// ReleaseAll releases every held Job in Options.Namespace that Options.Selector
// selects, even if its owner exists. It is the uninstall step. Stop the
// controller first, or it creates new held Jobs. ReleaseAll goes on when a
// release fails, and the error names the failed ones. Call it until it returns
// nil.
func (s *Sweeper[J, O]) ReleaseAll(ctx context.Context) (Report, error) {
	if !s.made() {
		return Report{}, errNotMade()
	}
	return s.release(ctx, math.MaxInt, func(_ context.Context, held []*metav1.PartialObjectMetadata) ([]*metav1.PartialObjectMetadata, error) {
		return held, nil
	})
}

// release releases the held Jobs that choose returns, the oldest first and at
// most limit. A Job that an earlier sweep failed to release goes behind the
// others.
func (s *Sweeper[J, O]) release(
	ctx context.Context, limit int,
	choose func(context.Context, []*metav1.PartialObjectMetadata) ([]*metav1.PartialObjectMetadata, error),
) (report Report, err error) {
	held, err := s.held(ctx)
	if err != nil {
		return report, err
	}
	done := map[types.UID]bool{}
	var failed failures
	chosen, err := choose(ctx, held)
	if err != nil {
		failed.add(err)
	} else {
		chosen = fairness.Next(&s.turns, chosen, limit)
	}
	for _, job := range chosen {
		if ctx.Err() != nil {
			failed.add(ctx.Err())
			break
		}
		if err := s.removeFinalizer(ctx, job); err != nil {
			failed.add(err)
			continue
		}
		done[job.UID] = true
	}
	report.Released, report.Held = len(done), len(held)-len(done)
	for _, job := range held {
		if !done[job.UID] {
			report.Oldest = max(0, time.Since(job.CreationTimestamp.Time))
			break // they are sorted
		}
	}
	if s.opts.OnSweep != nil {
		s.opts.OnSweep(report.Held, report.Oldest)
	}
	return report, failed.err()
}

// failures keeps the first few errors and counts the rest.
type failures struct {
	first []error
	more  int
}

func (f *failures) add(err error) {
	if len(f.first) == 5 {
		f.more++
		return
	}
	f.first = append(f.first, err)
}

func (f *failures) err() error {
	if f.more > 0 {
		return fmt.Errorf("%w\nand %d more", errors.Join(f.first...), f.more)
	}
	return errors.Join(f.first...)
}
