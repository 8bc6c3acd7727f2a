// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/proompteng/controllerkit/status"
)

// retried reads the object again after a conflict, and sets the same status.
func retried(ctx context.Context, s *server, before, after *Run) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live := new(Run)
		err := s.client.Get(ctx, client.ObjectKeyFromObject(before), live)
		if err != nil {
			return err
		}
		live.Status = after.Status
		return s.client.Status().Update(ctx, live)
	})
}

// updated sends the status of the copy that was read.
func updated(ctx context.Context, s *server, _, after *Run) error {
	return s.client.Status().Update(ctx, after)
}

// TestWriters_KeepANewerVerdict: what five ways to write a status do with a
// verdict that was stored since the read, on controller-runtime's fake client.
// It shows that the rule is not one that any writer keeps, and none that only
// Commit keeps.
func TestWriters_KeepANewerVerdict(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		write  func(ctx context.Context, s *server, before, after *Run) error
		isSafe bool
	}{
		"Commit":         {"It refuses any difference of the status.", ours, true},
		"Update":         {"It sends the version that was read.", updated, true},
		"OptimisticLock": {"So does controller-runtime's patch with the option.", guarded, true},
		"RetryOnConflict": {
			"The retry takes the version of the newer verdict.", retried, false,
		},
		"Flux":       {"Its helper sends fields without a version.", flux, false},
		"ClusterAPI": {"So does the helper that it was made from.", capi, false},
	} {
		for meanwhile, change := range map[string]func(*testing.T, client.Client, *Run){
			"Finished": finish, "Recreated": recreate,
		} {
			t.Run(name+"/"+meanwhile, func(t *testing.T) {
				s := fakeServer(t)
				before := read(t, s.client)
				after := before.DeepCopy()
				after.Status.Phase = "Late"
				change(t, s.client, before)
				want := read(t, s.client).Status.Phase
				err := tc.write(t.Context(), s, before, after)
				got := read(t, s.client).Status.Phase
				if tc.isSafe {
					require.Error(t, err, tc.reason)
					assert.Equal(t, want, got, tc.reason)
				} else {
					assert.Equal(t, "Late", got, tc.reason)
				}
			})
		}
	}
}

// finish is the next leader, which records how the run ended.
func finish(t *testing.T, c client.Client, before *Run) {
	t.Helper()
	next := before.DeepCopy()
	next.Status.Phase = "Failed"
	next.Status.FinishedAt = new(metav1.Now())
	require.NoError(t, c.Status().Update(t.Context(), next))
}

// recreate deletes the object and makes another one of the same name.
func recreate(t *testing.T, c client.Client, before *Run) {
	t.Helper()
	require.NoError(t, c.Delete(t.Context(), before.DeepCopy()))
	next := bigRun()
	next.ResourceVersion = ""
	next.UID = "another"
	next.Status.Phase = "New"
	require.NoError(t, c.Create(t.Context(), next))
	require.NoError(t, c.Status().Update(t.Context(), next))
}

func fakeServer(t *testing.T) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(runKind, new(Run))
	metav1.AddToGroupVersion(scheme, group)
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(runKind, apimeta.RESTScopeNamespace)
	run := bigRun()
	run.ResourceVersion = ""
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(run).WithStatusSubresource(run).Build()
	return &server{client: c, writer: status.ForClient(c)}
}

func read(t *testing.T, c client.Client) *Run {
	t.Helper()
	run := new(Run)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(bigRun()), run))
	return run
}
