// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// Sweep deletes the runs that have expired by now and by the API server's time,
// the most overdue first. Before the first answer of the API server it deletes
// nothing, and returns an error. A run that an earlier sweep failed to delete
// goes behind the others. A run that has changed or is gone since it was read
// is not an error. The error names the first few runs that could not be
// deleted. If ctx ends, Sweep stops and returns its error.
func (s *Sweeper) Sweep(ctx context.Context, now time.Time) (deleted int, err error) {
	if !s.made() {
		return 0, errNotMade()
	}
	served, ok := s.server.now()
	if !ok {
		return 0, errors.New("jobgc/expire: no answer of the API server with a Date was seen; give the " +
			"rest.Config of the informer's client the Wrap of the ServerTime")
	}
	if served.Before(now) {
		now = served // the clock of this machine is ahead, or the answer is a second old
	}
	if !s.begin(now) {
		return 0, nil
	}
	var failed []error
	more := 0
	for _, r := range s.choose(s.overdue(now)) {
		if ctx.Err() != nil {
			failed = append(failed, ctx.Err())
			break
		}
		err := s.remove(ctx, r.object)
		if err == nil {
			deleted++
			continue
		}
		gone, err := notfound.Is(err, schema.GroupResource{}, r.object.GetName())
		switch {
		case gone || notfound.Changed(err, r.object.GetName()):
		case len(failed) == maxErrors:
			more++
		default:
			failed = append(failed, fmt.Errorf("jobgc/expire: %s/%s: %w",
				r.object.GetNamespace(), r.object.GetName(), err))
		}
	}
	if more > 0 {
		failed = append(failed, fmt.Errorf("and %d more", more))
	}
	return deleted, errors.Join(failed...)
}

// maxErrors is how many failures the error of a sweep has in full.
const maxErrors = 5

// choose returns at most s.most of the overdue runs: the untried first, then
// the ones with the oldest try. Otherwise runs that cannot be deleted would
// block the others forever. Equal runs keep their order.
func (s *Sweeper) choose(due []overdue) []overdue {
	slices.SortStableFunc(due, func(a, b overdue) int {
		return cmp.Compare(s.tried[a.object.GetUID()], s.tried[b.object.GetUID()])
	})
	s.sweeps++
	tried := map[types.UID]int{} // only of runs that are overdue
	for i, r := range due {
		uid := r.object.GetUID()
		tried[uid] = s.tried[uid]
		if i < s.most {
			tried[uid] = s.sweeps
		}
	}
	s.tried = tried
	return due[:min(len(due), s.most)]
}

// overdue is a run that has expired.
type overdue struct {
	run

	by time.Duration
}

// overdue returns the runs that have expired, the most overdue first. It notes
// when the next one is due. A run that is deleted now counts: it may stay.
func (s *Sweeper) overdue(now time.Time) []overdue {
	var out []overdue
	var waits []time.Duration
	for _, item := range s.list() {
		r, _ := s.read(item) // an item of another type never expires
		in, ever := r.expiresIn(s.opts, now)
		if !ever {
			continue
		}
		waits = append(waits, in)
		if in <= 0 {
			out = append(out, overdue{r, -in})
		}
	}
	s.expectAll(waits, now)
	slices.SortStableFunc(out, func(a, b overdue) int { return cmp.Compare(b.by, a.by) })
	return out
}

// remove deletes the run only if it has not changed since it was read.
func (s *Sweeper) remove(ctx context.Context, object metav1.Object) error {
	client := s.client(object.GetNamespace())
	if isnil.Is(client) {
		return fmt.Errorf("the client of namespace %q is nil; return a client that can delete runs",
			object.GetNamespace())
	}
	return client.Delete(ctx, object.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{
			UID:             ptr.To(object.GetUID()),
			ResourceVersion: ptr.To(object.GetResourceVersion()),
		},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
}
