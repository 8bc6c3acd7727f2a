// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTheNamespaceIsDeletedUnderLoad: the namespace is deleted with its
// objects and the controller's rights. In a new namespace of that name, runs
// run again.
func TestTheNamespaceIsDeletedUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, w := steady(t)
	for i := range either(60, 12) {
		if i == 6 {
			require.NoError(t, w.Kube.CoreV1().Namespaces().Delete(ctx, w.Namespace, metav1.DeleteOptions{}))
		}
		_, _ = w.Runs.Create(ctx, newRun(3+i), metav1.CreateOptions{}) // refused once the namespace is terminating
		suite.Wait(ctx, 100*time.Millisecond)
	}
	suite.Eventually(t, "the namespace is gone", func(ctx context.Context) bool {
		_, err := w.Kube.CoreV1().Namespaces().Get(ctx, w.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.idle(ctx, t)
	suite.CreateNamespace(t, w.Stage)
	w.grant(t)
	w.putSecret(t, firstSecret)
	require.NoError(t, w.load(ctx, 0, 11, 0))
	w.holds(ctx, t, 12)
}

// TestTheRightsAreRevokedAndGrantedAgain: without rights the controller can
// neither read nor write, and its log names the denied rights. Afterwards all
// runs end normally.
func TestTheRightsAreRevokedAndGrantedAgain(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	last := either(62, 20)
	w.during(ctx, t, last, 100*time.Millisecond, func() {
		suite.Wait(ctx, 500*time.Millisecond)
		require.NoError(t, w.Kube.RbacV1().RoleBindings(w.Namespace).Delete(ctx, w.user, metav1.DeleteOptions{}))
		suite.Eventually(t, "the log names the denied right", func(ctx context.Context) bool {
			between.cut() // a granted watch continues until its next request
			suite.Wait(ctx, 500*time.Millisecond)
			return w.says(t, "forbidden.*"+w.user+".*cannot list resource.*agentruns")
		})
		suite.Wait(ctx, either(20*time.Second, 0))
		w.grant(t)
	})
	w.holds(ctx, t, last+1)
}

// TestTheSecretIsRotated: runs wait while the Secret is missing. Neither its
// old nor its new value appears anywhere.
//
//req:shows E5
func TestTheSecretIsRotated(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	last := either(62, 14)
	w.during(ctx, t, last, 100*time.Millisecond, func() {
		secrets := w.Kube.CoreV1().Secrets(w.Namespace)
		suite.Wait(ctx, 300*time.Millisecond)
		require.NoError(t, secrets.Delete(ctx, secretName, metav1.DeleteOptions{}))
		suite.Eventually(t, "a run waits for the Secret", func(ctx context.Context) bool {
			list, err := w.Runs.List(ctx, metav1.ListOptions{})
			for _, run := range list.Items {
				if run.Status.Reason == "MissingSecret" {
					return true
				}
			}
			assert.NoError(t, err)
			return false
		})
		w.putSecret(t, secondSecret)
	})
	suite.AllEnded(t, w.Stage, last+1) // the controller has read the second value
	between.behave(failing(20, firstSecret+" is not "+secondSecret))
	more := last + either(60, 9)
	require.NoError(t, w.load(ctx, last+1, more, 0))
	w.holds(ctx, t, more+1)
	assert.True(t, w.says(t, "Reconciler error.*injected"), "the errors are in the log")
}
