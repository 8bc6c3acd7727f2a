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

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// TestAgentRun_KeepsTheStatusContract: the kind and its Writer, on the fake
// client.
func TestAgentRun_KeepsTheStatusContract(t *testing.T) {
	r := newRig(t)
	statustest.Run(t, statustest.Kind[*v1alpha1.AgentRun]{
		Writer: r.writer,
		Create: func(t *testing.T) *v1alpha1.AgentRun {
			t.Helper()
			uid := uuid.NewUUID()
			run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid, Generation: 1}}
			require.NoError(t, r.Create(t.Context(), run))
			return run
		},
		Get: func(ctx context.Context, run *v1alpha1.AgentRun) (*v1alpha1.AgentRun, error) {
			return run, r.Get(ctx, client.ObjectKeyFromObject(run), run)
		},
		Patch: func(ctx context.Context, o status.Object, subresource string, data []byte) error {
			patch := client.RawPatch(types.MergePatchType, data)
			if subresource == "" {
				return r.Patch(ctx, o, patch)
			}
			return r.SubResource(subresource).Patch(ctx, o, patch)
		},
		Set: func(run *v1alpha1.AgentRun, n int) {
			run.Status.Phase = []v1alpha1.Phase{v1alpha1.Pending, v1alpha1.Running, v1alpha1.Succeeded}[n-1]
		},
		Spec:     `{"image":"other"}`,
		NoSchema: "the fake client has no schema",
	})
}
