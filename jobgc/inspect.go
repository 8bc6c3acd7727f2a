// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
		return Observation{}, errors.New("jobgc: inspect: the client is nil; pass " +
			"clientset.BatchV1().Jobs(namespace)")
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
	job, err := getJob(ctx, jobs, ref)
	if err != nil {
		return Observation{}, err
	}
	if job == nil {
		return absent(ref, Missing), nil
	}
	if job.UID != ref.UID {
		return absent(ref, Replaced), nil
	}
	f := StateOf(job)
	f.Source = sourceLiveRead
	return f, nil
}

// getJob reads the Job of a name. No Job and no error mean that the API server
// has none.
func getJob(ctx context.Context, jobs getter, ref Ref) (*batchv1.Job, error) {
	job, err := jobs.Get(ctx, ref.Name, metav1.GetOptions{})
	missing, err := isGone(err, ref)
	if missing {
		return nil, nil //nolint:nilnil // the answer is that there is none
	}
	if err == nil {
		err = checkJob(job, ref)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/"), err)
	}
	return job, nil
}

// checkJob returns an error for an answer that is not the Job of ref.
func checkJob(job *batchv1.Job, ref Ref) error {
	switch {
	case job == nil:
		return errors.New("the client returned neither a Job nor an error")
	case job.UID == "" || job.Name != ref.Name:
		return fmt.Errorf("the client returned a Job with the name %q and the uid %q, want this name and a "+
			"uid", job.Name, job.UID)
	case ref.Namespace != "" && job.Namespace != "" && ref.Namespace != job.Namespace:
		return fmt.Errorf("Ref.Namespace is %q, the client reads %q", ref.Namespace, job.Namespace)
	}
	return nil
}

// absent is the Observation about a Job that does not exist. The Job is lost only
// if its outcome is not recorded.
func absent(ref Ref, lost State) Observation {
	const by = sourceLiveRead
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
