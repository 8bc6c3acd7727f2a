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

	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/status"
)

// typedCommit is one Commit that sets the reason, after another client has done
// something.
func typedCommit(t *testing.T, s *stage, reason string, meanwhile func()) status.Result {
	t.Helper()
	before := s.read(t, "a")
	after := before.DeepCopy()
	after.Status.Reason = reason
	meanwhile()
	result, err := via(s.ours.runs.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	return result
}

// TestTheRightsItAsksFor: Commit needs only patch on the subresource, also to
// merge and to notice that an object is gone.
func TestTheRightsItAsksFor(t *testing.T) {
	config, err := plane.User("writer")
	require.NoError(t, err)
	s := newStageAs(t, config)
	require.NoError(t, rbac.Grant(t.Context(), s.theirs.kube, s.namespace, "status", "writer",
		rbacv1.PolicyRule{APIGroups: []string{runs.Group}, Resources: []string{"agentruns/status"}, Verbs: []string{"patch"}}))
	s.create(t, "a")

	respec := func() {
		body := []byte(`{"spec":{"image":"new"}}`)
		_, err := s.theirs.runs.Patch(t.Context(), "a", types.MergePatchType, body, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	remove := func() { require.NoError(t, s.theirs.runs.Delete(t.Context(), "a", metav1.DeleteOptions{})) }
	assert.Equal(t, status.Merged, typedCommit(t, s, "Running", respec))
	assert.Equal(t, status.Written, typedCommit(t, s, "Stopping", func() {}))
	assert.Equal(t, status.Gone, typedCommit(t, s, "Stopped", remove))

	// A version that is not served means nothing for the object, and these
	// rights allow no other request.
	s.create(t, "b")
	before, err := s.theirs.dynamic(runs).Get(t.Context(), "b", metav1.GetOptions{})
	require.NoError(t, err)
	notServed := s.ours.dynamic(runs.GroupResource().WithVersion("v99")).Patch
	_, err = via(notServed, status.Writer{}).Commit(t.Context(), before, before.DeepCopy(), running)
	require.ErrorContains(t, err, "status: commit: patching "+before.GetNamespace()+"/b: a 404 that no API server wrote")
}
