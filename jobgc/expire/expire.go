// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expire deletes finished runs whose retention is over.
//
// A run is the object that owns a Job, of any kind. jobgc decides when its time is over (Retention.Expired: the run's own
// ttlSecondsAfterFinished before the controller's setting, 0 keeps, the retain annotation keeps); a [Sweeper] carries it out,
// from the informer's store and without a request while there is nothing to delete:
//
//	sweeper, err := expire.New(runs, informer.GetStore().List, finished, keep, expire.Options{})
//	err = sweeper.Start(ctx) // blocks; fits manager.Add
//
// # Guarantees
//
// Every deletion carries the run's uid and resourceVersion as preconditions: a run that was edited, retained or created anew
// since it was read is spared, and looked at again. One sweep makes no more than Options.Limit deletions, the most overdue
// first, and a run that cannot be deleted does not keep others from it. What a run owns goes with it, in the background.
//
// # RBAC
//
// The runs' kind: delete; list and watch for the informer.
//
// # When not to use it
//
// Where something else keeps the history, such as a database that the runs are copied to; and never on runs that another
// controller has still to read.
package expire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/turns"
	"github.com/proompteng/controllerkit/jobgc"
)

// Runs deletes runs of one namespace. A typed client of client-go is one as it is, and so is a dynamic one but for its
// subresources.
type Runs interface {
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Options of a Sweeper. The zero value is what most controllers want.
type Options struct {
	// Every is how long Start waits between two sweeps. Zero means a minute.
	Every time.Duration

	// Limit is how many deletions one sweep makes at most. Zero means 100.
	Limit int

	_ struct{}
}

// Sweeper deletes runs of type R. Make it with New. Its methods must not be called concurrently; several replicas may each
// have one.
type Sweeper[R metav1.Object, C Runs] struct {
	client   func(namespace string) C
	list     func() []any
	finished func(run R) (at time.Time, own *int32)
	keep     jobgc.Retention
	opts     Options
	turns    turns.Turns
}

// New returns a Sweeper and makes no request. The client gives that of a namespace; list is a store's (informer.GetStore().List),
// of which what is no R is ignored; finished says when a run has finished, zero if it has not, and its own
// ttlSecondsAfterFinished, nil if it has none. A nil function and negative options are errors.
func New[R metav1.Object, C Runs](
	client func(namespace string) C, list func() []any, finished func(run R) (at time.Time, own *int32), keep jobgc.Retention, opts Options,
) (*Sweeper[R, C], error) {
	switch {
	case client == nil:
		return nil, errors.New("expire: new: the client is nil")
	case list == nil:
		return nil, errors.New("expire: new: list is nil")
	case finished == nil:
		return nil, errors.New("expire: new: finished is nil")
	case opts.Every < 0:
		return nil, fmt.Errorf("expire: new: options.every: %s is not accepted; want a positive duration, or 0 for a minute", opts.Every)
	case opts.Limit < 0:
		return nil, fmt.Errorf("expire: new: options.limit: %d is not accepted; want a positive number, or 0 for 100", opts.Limit)
	}
	if opts.Every == 0 {
		opts.Every = time.Minute
	}
	if opts.Limit == 0 {
		opts.Limit = 100
	}
	return &Sweeper[R, C]{client: client, list: list, finished: finished, keep: keep, opts: opts}, nil
}

// Start sweeps at once and then every Options.Every, until ctx ends; then it returns nil. Call it when the store is filled. What
// it deletes and what fails is logged to the context's logger.
func (s *Sweeper[R, C]) Start(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx).WithName("expire")
	for {
		deleted, err := s.Sweep(ctx, time.Now())
		if deleted > 0 {
			log.Info("deleted runs that are past their retention", "deleted", deleted)
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "not every run that is past its retention was deleted, trying again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.opts.Every):
		}
	}
}

// Sweep deletes the runs that have expired by now, the most overdue first; a run whose turn has come before and that is still there
// gives way to the others. A run that has changed or gone meanwhile is no error. The error names the first few that could not be
// deleted.
func (s *Sweeper[R, C]) Sweep(ctx context.Context, now time.Time) (deleted int, err error) {
	var due []overdue[R]
	for _, item := range s.list() {
		run, ok := item.(R)
		if !ok {
			continue
		}
		at, own := s.finished(run)
		if expired, _ := s.keep.Expired(run, at, own, now); expired {
			lived := s.keep.Runs
			if own != nil {
				lived = time.Duration(*own) * time.Second
			}
			due = append(due, overdue[R]{run, now.Sub(at) - lived})
		}
	}
	slices.SortStableFunc(due, func(a, b overdue[R]) int { return cmp.Compare(b.by, a.by) })
	more := 0
	var errs []error
	for _, d := range turns.Next(&s.turns, due, s.opts.Limit) {
		if ctx.Err() != nil {
			break
		}
		switch err := s.remove(ctx, d.run); {
		case err == nil:
			deleted++
		case (apierrors.IsNotFound(err) || apierrors.IsConflict(err)) && isAbout(err, d.run.GetName()):
		default:
			if len(errs) == 5 {
				more++
				continue
			}
			errs = append(errs, fmt.Errorf("expire: %s/%s: %w", d.run.GetNamespace(), d.run.GetName(), err))
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

// isAbout reports whether an API server wrote err about the object of that name; of which kind is not known here. What a proxy
// says, a webhook, or a server that does not serve the kind, has a cause or no name, and is to be heard of.
func isAbout(err error, name string) bool {
	s := apierrors.APIStatus(nil)
	return !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		errors.As(err, &s) && s.Status().Details != nil && s.Status().Details.Name == name
}

// remove deletes the run as it was read, and nothing else.
func (s *Sweeper[R, C]) remove(ctx context.Context, run R) error {
	return s.client(run.GetNamespace()).Delete(ctx, run.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(run.GetUID()), ResourceVersion: new(run.GetResourceVersion())},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
}
