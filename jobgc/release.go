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

	"github.com/proompteng/controllerkit/jobgc/internal/finalizer"
)

// release sets the final TTL, counted from now, and removes the finalizer of
// Options.Finalizer. It sends one JSON patch, which tests the uid, so that it
// never changes a successor of the same name. It patches again only if the Job
// was changed in between. A copy of the Job that may lack what the stored Job
// has is read again first, so that nothing is overwritten or left behind.
func (g *Guard[J]) release(ctx context.Context, ref Ref, found Observation, retention Retention, now time.Time) error {
	jobs, err := g.jobsIn(ref.Namespace)
	if err != nil {
		return err
	}
	copied := view{found: found, finalizer: g.opts.Finalizer}
	again := copied.blind()
	var sent []byte
	var refused error
	for range 3 {
		if again {
			live, err := readLive(ctx, jobs, ref)
			if err != nil {
				return errors.Join(refused, err)
			}
			if found = live; found.gone() {
				return nil
			}
		}
		if ref.Outcome != "" {
			found.Outcome = ref.Outcome
		}
		ops := append(g.lower(found, retention, now), g.unhold(found.Job)...)
		if len(ops) == 0 {
			return nil
		}
		patch, err := json.Marshal(append([]operation{{Op: "test", Path: "/metadata/uid", Value: ref.UID}}, ops...))
		if err != nil {
			return fmt.Errorf("release %s/%s: %w", ref.Namespace, ref.Name, err)
		}
		if bytes.Equal(patch, sent) {
			break // the Job has not changed: the refusal has another cause
		}
		_, err = jobs.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		if _, err = isGone(err, ref); err == nil {
			return nil
		}
		sent, refused = patch, fmt.Errorf("release %s/%s: %w", ref.Namespace, ref.Name, err)
		if !apierrors.IsInvalid(err) {
			break
		}
		again = true // a test of the patch has failed, or something else is wrong with it: both are 422
	}
	return refused
}

// lower returns the operations that set the final TTL and record the release on
// the Job. It returns none if that was done, or if no TTL counts now and no
// finalizer is taken off. A TTL that another client sets later stays.
func (g *Guard[J]) lower(f Observation, retention Retention, now time.Time) []operation {
	var ops []operation
	switch v := (view{found: f, retention: retention, now: now}); {
	case v.finalTTLIsDue():
		ops = []operation{{Op: "add", Path: "/spec/ttlSecondsAfterFinished", Value: retention.final(f.Job, f, now)}} // add replaces too, and null removes
	case f.State != Finished || f.Job.Annotations[releasedAnnotation] != "" || !hasFinalizer(f.Job, g.opts.Finalizer):
		return nil
	}
	if f.Job.Annotations == nil {
		// The patch must fail if another client adds the first annotation.
		ops = append([]operation{{Op: "test", Path: "/metadata/resourceVersion", Value: f.Job.ResourceVersion}}, ops...)
		ops = append(ops, operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}})
	}
	return append(ops, operation{
		Op: "add", Path: "/metadata/annotations/" + strings.ReplaceAll(releasedAnnotation, "/", "~1"), Value: now.UTC().Format(time.RFC3339),
	})
}

// operation is one step of a JSON patch (RFC 6902).
type operation = finalizer.Operation
