// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

// TestBackup_KeepsTheStatusContract: the Writer of the controller, on the fake
// dynamic client.
func TestBackup_KeepsTheStatusContract(t *testing.T) {
	lists := map[schema.GroupVersionResource]string{backups: "BackupList"}
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	c, err := New(dyn, fake.NewClientset(), fake.NewClientset(), m)
	require.NoError(t, err)
	client := c.backups.Namespace("default")
	phases := []string{created, inProgress, completed}

	statustest.Run(t, statustest.Kind[*unstructured.Unstructured]{
		Writer: c.status,
		Create: func(t *testing.T) *unstructured.Unstructured {
			t.Helper()
			u := newBackup()
			u.SetUID(uuid.NewUUID())
			u.SetName(string(u.GetUID()))
			u, err := client.Create(t.Context(), u, metav1.CreateOptions{})
			require.NoError(t, err)
			return u
		},
		Get: func(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return client.Get(ctx, u.GetName(), metav1.GetOptions{})
		},
		Patch: func(ctx context.Context, o status.Object, subresource string, data []byte) error {
			_, err := client.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, subresource)
			return err
		},
		Set:         func(u *unstructured.Unstructured, n int) { assert.NoError(t, enter(u, phases[n-1], "")) },
		Spec:        `{"image":"example.com/backup:2"}`,
		NoSchema:    "the fake client has no schema",
		NoConflicts: "the fake client accepts an outdated resourceVersion",
	})
}
