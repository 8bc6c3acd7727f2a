// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Release lets a Job go: it sets the TTL of the retention, counted from now, and takes off the finalizer of Options.Hold.
// Call it once the outcome is persisted in ref; and, with Options.Hold, once the loss of a Job that is Deleting is
// persisted (if it has finished since, set ref.Outcome to what Look says now). It needs no memory, for an annotation on the
// Job says that it was released: after a restart the same call does what is left to do, and makes no request if that is
// nothing, or if the Job is gone. So it can be called on every reconcile of a finished run; persist ref.Released only to
// spare those calls where a look is a live read.
//
// The finding is what Look has just said. A Job that is lost or Collected needs no release: nil. One that is not
// finished, and a Ref without an outcome, are errors: nothing puts a short TTL on a Job whose result is not recorded.
//
// It is one JSON patch, tested on the uid, so that a successor of the same name is never touched. That the Job is gone
// is success. It is patched again only if it was changed in between; other errors are wrapped, and not retried here.
func (g *Guard[J]) Release(ctx context.Context, ref Ref, finding Finding, retention Retention) error {
	switch {
	case ref.Released || finding.gone() || finding.State == Deleting && !g.held(finding.Job):
		return nil
	case finding.State != Finished && finding.State != Deleting:
		return fmt.Errorf("jobgc: release: %s/%s: finding.state is %q, want %q", ref.Namespace, ref.Name, finding.State, Finished)
	case finding.State == Finished && ref.Outcome == "":
		return fmt.Errorf("jobgc: release: %s/%s: ref.outcome is empty; record the outcome first", ref.Namespace, ref.Name)
	case finding.Job == nil:
		return fmt.Errorf("jobgc: release: %s/%s: finding.job is nil; pass what Look returned", ref.Namespace, ref.Name)
	case ref.Namespace == "" || ref.Name == "" || ref.UID == "":
		return errors.New("jobgc: release: ref needs namespace, name and uid")
	case finding.Job.UID != ref.UID:
		return fmt.Errorf("jobgc: release: %s/%s: the uid of finding.job is %q, want ref.uid %q", ref.Namespace, ref.Name, finding.Job.UID, ref.UID)
	}
	jobs := g.client(ref.Namespace)
	if isNil(jobs) {
		return fmt.Errorf("jobgc: release: the client of namespace %s is nil", ref.Namespace)
	}
	now := time.Now()
	var sent []byte
	var refused error
	for range 3 {
		ops := append(g.lower(finding, retention, ref.Outcome, now), g.unhold(finding.Job)...)
		if len(ops) == 0 {
			return nil
		}
		patch, err := json.Marshal(append([]operation{{Op: "test", Path: "/metadata/uid", Value: ref.UID}}, ops...))
		if err != nil {
			return fmt.Errorf("jobgc: release: %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		if bytes.Equal(patch, sent) {
			break // the Job is as it was: the refusal has another cause
		}
		_, err = jobs.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		if _, err = isGone(err, ref); err == nil {
			return nil
		}
		sent, refused = patch, fmt.Errorf("jobgc: release: %s/%s: %w", ref.Namespace, ref.Name, err)
		if !apierrors.IsInvalid(err) {
			break
		}
		// A test of the patch has failed, or something else is wrong with it: both are 422.
		live, err := Look(ctx, jobs, ref)
		if err != nil {
			break
		}
		if finding = live; live.gone() {
			return nil
		}
	}
	return refused
}

// lower is what sets the TTL of the retention, and says so on the Job; nothing if that was done, or if no TTL counts any more.
// Whoever changes the TTL thereafter is not overruled.
func (g *Guard[J]) lower(f Finding, retention Retention, outcome Outcome, now time.Time) []operation {
	has := f.Job.Spec.TTLSecondsAfterFinished
	ttl, _ := retention.AtRelease(outcome, f.FinishedAt, now)
	if f.State != Finished || f.Job.DeletionTimestamp != nil || f.Job.Annotations[releasedAnnotation] != "" || has == nil && ttl == nil {
		return nil
	}
	ops := []operation{{Op: "add", Path: "/spec/ttlSecondsAfterFinished", Value: ttl}} // add replaces too, and null removes
	if f.Job.Annotations == nil {
		ops = append(ops, operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}})
	}
	return append(ops, operation{
		Op: "add", Path: "/metadata/annotations/" + strings.ReplaceAll(releasedAnnotation, "/", "~1"), Value: now.UTC().Format(time.RFC3339),
	})
}

// releasedAnnotation is when a Job was released.
const releasedAnnotation = "jobgc.controllerkit.dev/released"

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}
