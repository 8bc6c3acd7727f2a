// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// held lists the Jobs that carry the finalizer, the oldest first. There is no
// selector for finalizers.
func (s *Sweeper[J, O]) held(ctx context.Context) ([]*metav1.PartialObjectMetadata, error) {
	var held []*metav1.PartialObjectMetadata
	jobs, err := s.jobsIn(s.opts.Namespace)
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list Jobs: %w", err)
	}
	err = list(ctx, jobs, metav1.ListOptions{LabelSelector: s.opts.Selector}, func(job *metav1.PartialObjectMetadata) {
		if slices.Contains(job.Finalizers, s.hold) {
			held = append(held, job)
		}
	}, func() { held = nil })
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list Jobs: %w", err)
	}
	slices.SortStableFunc(held, func(a, b *metav1.PartialObjectMetadata) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return held, nil
}

// abandoned returns the held Jobs that no controller will release. An owner
// that is being deleted waits for the result if it has a finalizer of a
// controller. Otherwise, if its Job is being deleted too, only the hold keeps
// both.
func (s *Sweeper[J, O]) abandoned(ctx context.Context, held []*metav1.PartialObjectMetadata) ([]*metav1.PartialObjectMetadata, error) {
	if len(held) == 0 {
		return nil, nil
	}
	deleting := map[types.UID]bool{} // of each owner: it waits for its Job alone
	owners, err := s.ownersIn(s.opts.Namespace)
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list owners: %w", err)
	}
	err = list(ctx, owners, metav1.ListOptions{}, func(owner *metav1.PartialObjectMetadata) {
		deleting[owner.UID] = owner.DeletionTimestamp != nil && !slices.ContainsFunc(owner.Finalizers, func(name string) bool {
			return name != metav1.FinalizerDeleteDependents && name != metav1.FinalizerOrphanDependents
		})
	}, func() { clear(deleting) })
	if err != nil {
		return nil, fmt.Errorf("jobgc/hold: list owners: %w", err)
	}
	var out []*metav1.PartialObjectMetadata
	for _, job := range held {
		lost := true
		if owner := metav1.GetControllerOfNoCopy(job); owner != nil {
			gone, found := deleting[owner.UID]
			lost = !found || gone && job.DeletionTimestamp != nil
		}
		if lost {
			out = append(out, job)
		}
	}
	return out, nil
}

// jobsIn returns the Job client of a namespace.
func (s *Sweeper[J, O]) jobsIn(namespace string) (J, error) {
	jobs := s.jobs(namespace)
	if isnil.Is(jobs) {
		return jobs, fmt.Errorf("the client of namespace %q is nil; return a client that can list and patch Jobs", namespace)
	}
	return jobs, nil
}

// ownersIn returns the owners' client of a namespace.
func (s *Sweeper[J, O]) ownersIn(namespace string) (O, error) {
	owners := s.owners(namespace)
	if isnil.Is(owners) {
		return owners, fmt.Errorf("the client of namespace %q is nil; return a client that can list the owners", namespace)
	}
	return owners, nil
}

// page is how many objects one request lists.
const page = 500

// list calls each for every object. All pages show the same moment. If the API
// server has dropped that moment before the last page (410 Gone), list calls
// reset and starts again. The third attempt reads everything as one page.
func list(ctx context.Context, from Owners, opts metav1.ListOptions, each func(*metav1.PartialObjectMetadata), reset func()) error {
	opts.Limit = page
	for expired := 0; ; {
		got, err := from.List(ctx, opts)
		switch {
		case opts.Continue != "" && apierrors.IsResourceExpired(err):
			reset()
			opts.Continue = ""
			if expired++; expired == 2 {
				opts.Limit = 0
			}
			continue
		case err != nil:
			return err
		case got == nil:
			return errors.New("the client returned neither a list nor an error")
		}
		for i := range got.Items {
			each(&got.Items[i])
		}
		if opts.Continue = got.Continue; opts.Continue == "" {
			return nil
		}
	}
}
