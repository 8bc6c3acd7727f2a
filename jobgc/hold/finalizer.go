// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	finalizers "github.com/proompteng/controllerkit/internal/finalizer"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// RemoveFinalizer removes the finalizer from one Job. The uid and the
// finalizers of job must be those that were read. The client jobs is any client
// of the Job's namespace, typed or of metadata. It returns nil if the Job does
// not have the finalizer or is gone. A 404 that is not about this Job is an
// error. The patch tests the uid and the element that it removes. If either has
// changed since, the API server refuses the patch, and RemoveFinalizer returns
// that error. Then read the Job again.
func RemoveFinalizer[T any](ctx context.Context, jobs interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
}, job metav1.Object, finalizer string,
) error {
	if jobs == nil || job == nil {
		return errors.New("jobgc/hold: removeFinalizer: the client or the job is nil")
	}
	removal := finalizers.Removal(job.GetFinalizers(), finalizer)
	if removal == nil {
		return nil
	}
	patch, err := json.Marshal(append([]finalizers.Operation{{Op: "test", Path: "/metadata/uid", Value: job.GetUID()}}, removal...))
	if err != nil {
		return fmt.Errorf("jobgc/hold: removeFinalizer: %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	}
	_, err = jobs.Patch(ctx, job.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
	if _, err = notfound.Is(err, schema.GroupResource{Group: "batch", Resource: "jobs"}, job.GetName()); err != nil {
		return fmt.Errorf("jobgc/hold: removeFinalizer: %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	}
	return nil
}
