// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"

	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// terminate deletes the stage's namespace.
func (s *stage) terminate(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Kube.CoreV1().Namespaces().Delete(t.Context(), s.Namespace, metav1.DeleteOptions{}))
}

// terminated waits until it is gone.
func (s *stage) terminated(t *testing.T) {
	t.Helper()
	suite.Eventually(t, "the namespace is gone", func(context.Context) bool {
		_, err := s.Kube.CoreV1().Namespaces().Get(t.Context(), s.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// What the package says about rights is exact: with
// OwnerReferencesPermissionEnforcement on, as here, update on the owner's
// finalizers subresource is needed, and nothing more.
func TestHoldRights(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	user := "holds." + s.Namespace
	config, err := plane.User(user)
	require.NoError(t, err)
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	informer := s.controller(t, jobgc.Options{}).informer
	cached := jobgc.CachedIn(batchlisters.NewJobLister(informer.GetIndexer()))
	keep := jobgc.Retention{SucceededTTL: time.Hour}
	g, err := jobgc.New(kube.BatchV1().Jobs, cached, jobgc.Options{Finalizer: finalizer, Retention: keep})
	require.NoError(t, err)
	grant := func(group, resource string, verbs ...string) {
		rule := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
		require.NoError(t, rbac.Grant(t.Context(), s.Kube, s.Namespace, user+"."+verbs[0], user, rule))
	}
	grant("batch", "jobs", "create", "get", "patch", "list", "watch")
	_, err = s.ensure(t.Context(), g, s.job("job"))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "blockOwnerDeletion")
	grant("", "configmaps/finalizers", "update")
	ref, err := s.ensure(t.Context(), g, s.job("job"))
	require.NoError(t, err)
	suite.Eventually(t, "it has finished", func(ctx context.Context) bool {
		_, f, err := s.step(ctx, g, jobgc.Request{Ref: &ref})
		require.NoError(t, err)
		ref.Outcome = f.Outcome
		return f.State == jobgc.Finished
	})
	require.NoError(t, s.release(t.Context(), g, ref))
	assert.NotContains(t, s.live(t, "job").Finalizers, finalizer)
}
