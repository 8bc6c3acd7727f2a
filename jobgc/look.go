// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/absent"
)

// Look finds out by one live read what became of a Job; jobs is any typed client of the Job's namespace, such as
// clientset.BatchV1().Jobs(ns). Name and UID of the Ref suffice: its Namespace is not used to find the Job, so the client must be that
// of the Job's namespace, or a Job that lives elsewhere is reported as Missing. Without a UID nothing is read: the Job is NotCreated.
//
// It returns every State but Pending, which only a Guard gives, for only a cache can be behind.
//
// Only an answer of the API server about this very Job makes it Missing. Any other failure is an error and leaves the
// question open, also a 404 that comes from a proxy or from a server that does not serve Jobs, or that is about another object,
// and an answer that is another Job or none, for its name, namespace or uid says so.
func Look(ctx context.Context, jobs interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*batchv1.Job, error)
}, ref Ref,
) (Finding, error) {
	switch {
	case isNil(jobs):
		return Finding{}, errors.New("jobgc: look: the client is nil")
	case ref.Name == "":
		return Finding{}, errors.New("jobgc: look: ref.name is empty")
	case ref.UID == "":
		return Finding{State: NotCreated, Proof: ByRef}, nil
	}
	job, err := jobs.Get(ctx, ref.Name, metav1.GetOptions{})
	missing, err := isGone(err, ref)
	switch {
	case missing:
		return gone(ref, Missing, ByLiveRead), nil
	case err != nil:
		return Finding{}, fmt.Errorf("jobgc: look: %s: %w", ref.Name, err)
	case job == nil:
		return Finding{}, fmt.Errorf("jobgc: look: %s: the client returned neither a Job nor an error", ref.Name)
	case job.UID == "" || job.Name != ref.Name:
		return Finding{}, fmt.Errorf("jobgc: look: %s: the client returned a Job with the name %q and the uid %q, want this name and a uid", ref.Name, job.Name, job.UID)
	case ref.Namespace != "" && job.Namespace != "" && ref.Namespace != job.Namespace:
		return Finding{}, fmt.Errorf("jobgc: look: %s: ref.namespace is %q, the client reads %q", ref.Name, ref.Namespace, job.Namespace)
	case job.UID != ref.UID:
		return gone(ref, Replaced, ByLiveRead), nil
	}
	f := Judge(job)
	f.Proof = ByLiveRead
	return f, nil
}

// gone is the Finding about a Job that exists no more. It is lost only if its outcome is not recorded.
func gone(ref Ref, lost State, by Proof) Finding {
	switch {
	case ref.Outcome != "":
		return Finding{State: Collected, Proof: by, Outcome: ref.Outcome}
	case lost == Replaced:
		return Finding{State: Replaced, Proof: by, Reason: reasonReplaced, Message: messageReplaced}
	}
	return Finding{State: Missing, Proof: by, Reason: reasonMissing, Message: messageMissing}
}

// isGone reports whether the API server says that the Job of that name does not exist, and otherwise returns the error to report.
// That the namespace does not exist it says in the same words: a read is not told about namespaces.
func isGone(err error, ref Ref) (bool, error) {
	return absent.Is(err, batchv1.Resource("jobs"), ref.Name)
}
