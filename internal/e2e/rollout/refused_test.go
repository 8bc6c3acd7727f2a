// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// isNotReleased: neither Rollback nor the wait of a plan takes the template of
// the Rollout for released.
func (s *stage) isNotReleased(image, reason string) {
	s.Helper()
	_, errs := plan.Rollback(s.get("web"), s.manifest(image), nil, plan.Options{})
	require.Len(s, errs, 1, reason)
	assert.Equal(s, "live.status", errs[0].Field, reason)
	out, err := s.try(plane.Kubeconfig(), strings.Replace(s.untilHealthy(), " 600 ", " 3 ", 1))
	require.Error(s, err, "%s\n%s", reason, out)
}

// untilHealthy is how a plan waits for the Rollout web.
func (s *stage) untilHealthy() string {
	s.Helper()
	from := web("web:1")
	from.Namespace = s.namespace
	to := converted(s.T, "web:1", rollout.Options{})
	to.Namespace = s.namespace
	p, errs := plan.Migration(from, to, nil, plan.Options{})
	require.Empty(s, errs)
	p.Steps = slices.DeleteFunc(p.Steps, func(step plan.Step) bool {
		return step.Verb != "wait" || !strings.HasPrefix(step.Object, "rollout")
	})
	return p.String()
}

// refuse has the API server refuse ReplicaSets with the image in the namespace,
// until the function that it returns is called.
func (s *stage) refuse(image string) (allow func()) {
	s.Helper()
	policies := s.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := s.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	meta := metav1.ObjectMeta{Name: s.namespace}
	equivalent := admissionv1.Equivalent
	_, err := policies.Create(s.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &equivalent,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"replicasets"}},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: "object.spec.template.spec.containers.all(c, c.image != '" + image + "')", Message: "no such image",
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
	_, err = bindings.Create(s.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        s.namespace,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(s, err)

	// The API server reads policies once a second, so that each change is late.
	isRefused := func(c *assert.CollectT, want bool) {
		_, err := s.kube.AppsV1().ReplicaSets(s.namespace).Create(s.Context(), emptySet("asked", image), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.Equal(c, want, apierrors.IsInvalid(err) || apierrors.IsForbidden(err), "%v", err)
	}
	s.eventually("the API server has the policy", func(c *assert.CollectT) { isRefused(c, true) })
	return func() {
		s.Helper()
		require.NoError(s, bindings.Delete(s.Context(), s.namespace, metav1.DeleteOptions{}))
		require.NoError(s, policies.Delete(s.Context(), s.namespace, metav1.DeleteOptions{}))
		s.eventually("the API server has no policy", func(c *assert.CollectT) { isRefused(c, false) })
	}
}
