// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// patchFunc is the Patch method of a client, as a client.
type patchFunc[T any] func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)

func (f patchFunc[T]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error) {
	return f(ctx, name, pt, data, opts, subresources...)
}

// via returns a Writer with the settings of w that sends by patch.
func via[T status.Object](patch patchFunc[T], w status.Writer) status.Writer {
	out := status.ForResource(func(string) patchFunc[T] { return patch })
	out.FieldNames, out.Owned, out.FieldManager, out.Heartbeat = w.FieldNames, w.Owned, w.FieldManager, w.Heartbeat
	out.Redact, out.OnCommit = w.Redact, w.OnCommit
	return out
}
