// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// Inspect finds out the state of a Job by one live read. The client jobs is any
// typed client of the Job's namespace, such as clientset.BatchV1().Jobs(ns).
// Name and UID of the Ref suffice. Its Namespace does not select the Job, so a
// client of another namespace reports the Job as Missing. Without a UID,
// Inspect reads nothing and the Job is NotCreated.
//
// It never returns Pending, because only a cache can be behind.
//
// Only an answer of the API server about this very Job makes it Missing. A Job
// of this name with another uid makes it Replaced. Everything else is an error,
// and the state stays unknown: a 404 from a proxy, a 404 about another object,
// or an answer without a Job, with another name or without a uid.
func Inspect(ctx context.Context, jobs interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*batchv1.Job, error)
}, ref Ref,
) (Observation, error) {
	switch {
	case isnil.Is(jobs):
		return Observation{}, errors.New("jobgc: inspect: the client is nil; pass clientset.BatchV1().Jobs(namespace)")
	case ref.Name == "":
		return Observation{}, errors.New("jobgc: inspect: Ref.Name is empty; set the name of the Job")
	case ref.UID == "":
		return Observation{State: NotCreated, Source: sourceRef}, nil
	}
	f, err := readLive(ctx, jobs, ref)
	if err != nil {
		return Observation{}, fmt.Errorf("jobgc: inspect: %w", err)
	}
	return f, nil
}

// getter reads Jobs of one namespace.
type getter interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*batchv1.Job, error)
}

// readLive is Inspect of a Ref with a name and a uid.
func readLive(ctx context.Context, jobs getter, ref Ref) (Observation, error) {
	job, err := jobs.Get(ctx, ref.Name, metav1.GetOptions{})
	missing, err := isGone(err, ref)
	switch {
	case missing:
		return gone(ref, Missing, sourceLiveRead), nil
	case err != nil:
		return Observation{}, fmt.Errorf("%s: %w", ref.Name, err)
	case job == nil:
		return Observation{}, fmt.Errorf("%s: the client returned neither a Job nor an error", ref.Name)
	case job.UID == "" || job.Name != ref.Name:
		return Observation{}, fmt.Errorf("%s: the client returned a Job with the name %q and the uid %q, want this name and a uid", ref.Name, job.Name, job.UID)
	case ref.Namespace != "" && job.Namespace != "" && ref.Namespace != job.Namespace:
		return Observation{}, fmt.Errorf("%s: Ref.Namespace is %q, the client reads %q", ref.Name, ref.Namespace, job.Namespace)
	case job.UID != ref.UID:
		return gone(ref, Replaced, sourceLiveRead), nil
	}
	f := StateOf(job)
	f.Source = sourceLiveRead
	return f, nil
}

// gone is the Observation about a Job that does not exist. The Job is lost only
// if its outcome is not recorded.
func gone(ref Ref, lost State, by string) Observation {
	switch {
	case ref.Outcome != "":
		return Observation{State: Collected, Source: by, Outcome: ref.Outcome}
	case lost == Replaced:
		return Observation{State: Replaced, Source: by, Reason: reasonReplaced, Message: messageReplaced}
	}
	return Observation{State: Missing, Source: by, Reason: reasonMissing, Message: messageMissing}
}

// isGone reports whether the API server says that the Job of that name does not
// exist, and otherwise returns the error to report. A read in a namespace that
// does not exist has the same answer.
func isGone(err error, ref Ref) (bool, error) {
	return notfound.Is(err, batchv1.Resource("jobs"), ref.Name)
}
