// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/status"
)

// TestTheRightsItAsksFor: Commit needs only patch on the subresource, also to
// merge and to notice that an object is gone.
func TestTheRightsItAsksFor(t *testing.T) {
	config, err := plane.User("writer")
	require.NoError(t, err)
	s := newStage(t)
	writer := newParty(t, config, s.namespace)
	kube, err := kubernetes.NewForConfig(plane.Config())
	require.NoError(t, err)
	require.NoError(t, rbac.Grant(t.Context(), kube, s.namespace, "status", "writer",
		rbacv1.PolicyRule{APIGroups: []string{runs.Group}, Resources: []string{"agentruns/status"}, Verbs: []string{"patch"}}))
	for name, tc := range map[string]struct {
		meanwhile string
		result    status.Result
	}{
		"written": {`{}`, status.Written}, "merged": {`{"spec":{"image":"new"}}`, status.Written}, "gone": {"", status.Gone},
	} {
		before := s.object(t, runs, name)
		if tc.meanwhile == "" {
			require.NoError(t, s.dynamic(runs).Delete(t.Context(), before.GetName(), metav1.DeleteOptions{}))
		} else {
			_, err := s.dynamic(runs).Patch(t.Context(), before.GetName(), types.MergePatchType, []byte(tc.meanwhile), metav1.PatchOptions{})
			require.NoError(t, err)
		}
		after := withStatus(before, object{"reason": "Running"})
		got, err := via(writer.dynamic(runs).Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, tc.result, got, name)
	}

	// A version that is not served means nothing for the object, and these
	// rights allow no other request.
	before := s.object(t, runs, "a")
	notServed := writer.dynamic(runs.GroupResource().WithVersion("v99")).Patch
	_, err = via(notServed, status.Writer{}).Commit(t.Context(), before, before.DeepCopy(), running)
	require.ErrorContains(t, err, "status: commit: patching "+before.GetNamespace()+"/a: a 404 that no API server wrote")
}
