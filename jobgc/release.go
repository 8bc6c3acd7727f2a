// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Release lets a finished Job go: it sets the TTL of the retention, counted from now. Call it once the outcome is
// persisted in ref, and again on every reconcile until it succeeds; then persist ref.Released. It needs no memory: after
// a restart the same call does the rest, and nothing if the Job has its TTL already or is gone.
//
// The finding is what Look has just said. A Job that is lost or Collected needs no release: nil. One that is not
// finished, and a Ref without an outcome, are errors: nothing puts a short TTL on a Job whose result is not recorded.
//
// It is one JSON patch, tested on the uid, so that a successor of the same name is never touched. That the Job is gone
// is success. Other errors are wrapped; no patch is retried here.
func (g *Guard[J]) Release(ctx context.Context, ref Ref, finding Finding, retention Retention) error {
	switch {
	case ref.Released || finding.gone() || finding.State == Deleting:
		return nil
	case finding.State != Finished:
		return fmt.Errorf("jobgc: release: %s/%s: finding.state is %q, want %q", ref.Namespace, ref.Name, finding.State, Finished)
	case ref.Outcome == "":
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
	has := finding.Job.Spec.TTLSecondsAfterFinished
	if finding.Job.DeletionTimestamp != nil || retention.applied(has, g.opts.Retention.AtCreate(), ref.Outcome, finding.FinishedAt, now) {
		return nil
	}
	ttl, _ := retention.AtRelease(ref.Outcome, finding.FinishedAt, now)
	patch, err := json.Marshal([]operation{
		{Op: "test", Path: "/metadata/uid", Value: ref.UID},
		{Op: "add", Path: "/spec/ttlSecondsAfterFinished", Value: ttl}, // add replaces too, and null removes
	})
	if err != nil {
		return fmt.Errorf("jobgc: release: %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	_, err = jobs.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	if apierrors.IsInvalid(err) {
		// The test on the uid has failed, or something else is wrong with the patch: both are 422.
		if f, lookErr := Look(ctx, jobs, ref); lookErr == nil && f.gone() {
			return nil
		}
	}
	if err == nil || isGone(err) {
		return nil
	}
	return fmt.Errorf("jobgc: release: %s/%s: %w", ref.Namespace, ref.Name, err)
}

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}
