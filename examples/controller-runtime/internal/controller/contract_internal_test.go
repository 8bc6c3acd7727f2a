// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/proompteng/controllerkit/examples/controller-runtime/api/v1"
	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// TestTask_KeepsTheStatusContract: the kind and its Writer, on the fake client.
func TestTask_KeepsTheStatusContract(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	statustest.Run(t, statustest.Kind[*v1.Task]{
		Writer: r.Writer,
		Create: func(t *testing.T) *v1.Task {
			t.Helper()
			uid := uuid.NewUUID()
			task := &v1.Task{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid, Generation: 1}}
			require.NoError(t, r.Create(t.Context(), task))
			return task
		},
		Get: func(ctx context.Context, task *v1.Task) (*v1.Task, error) {
			return task, r.Get(ctx, client.ObjectKeyFromObject(task), task)
		},
		Patch: func(ctx context.Context, o status.Object, subresource string, data []byte) error {
			patch := client.RawPatch(types.MergePatchType, data)
			if subresource == "" {
				return r.Client.Patch(ctx, o, patch)
			}
			return r.SubResource(subresource).Patch(ctx, o, patch)
		},
		Set:      func(task *v1.Task, n int) { task.Status.Phase = []string{v1.Pending, v1.Running, v1.Succeeded}[n-1] },
		Spec:     `{"image":"other"}`,
		NoSchema: "the fake client has no schema",
	})
}
