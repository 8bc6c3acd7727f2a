// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestARefusalOfAMegabyte_IsBoundedAndMasked: a webhook refuses the Job, and
// quotes the run's Secret in a megabyte of text.
//
//req:shows E5
func TestARefusalOfAMegabyte_IsBoundedAndMasked(t *testing.T) {
	t.Parallel()
	const value = "canary-5f1d7c2e9b"
	stage := plane.NewStage(t)
	p := plane.Start(t, stage, suite.Controller{})
	_, err := stage.Kube.CoreV1().Secrets(stage.Namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-key"}, StringData: map[string]string{"token": value},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	remove := refuseJobs(t, stage, "found "+value+strings.Repeat(" and "+value, 1<<16))
	run := create(t, stage, "refused", func(spec *v1alpha1.AgentRunSpec) {
		spec.SecretRef = &v1alpha1.SecretRef{Name: "agent-key", Key: "token"}
	})
	waitDegraded(t, stage, run, "Forbidden")
	var text string
	suite.Eventually(t, "the Event is written", func(ctx context.Context) bool {
		events, err := stage.Events(ctx, run.Name)
		require.NoError(t, err)
		body, err := json.Marshal(events)
		require.NoError(t, err)
		text = string(body)
		return len(events) > 0
	})
	now, err := stage.Runs.Get(t.Context(), run.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(now.Status.Message), 1024)
	assert.Contains(t, now.Status.Message, "[redacted]")
	assert.NotContains(t, now.Status.Message, value)
	assert.NotContains(t, text, value)
	log, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	assert.NotContains(t, string(log), value)
	for line := range strings.Lines(string(log)) {
		assert.Less(t, len(line), 8<<10)
	}
	remove()
	reached(t, stage, run, v1alpha1.Succeeded)
}

// TestARunWhoseStatusIsRefused_Ends: with a fixed text, whose size the policy
// accepts.
func TestARunWhoseStatusIsRefused_Ends(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]metav1.StatusReason{"TooLarge": metav1.StatusReasonRequestEntityTooLarge, "Invalid": metav1.StatusReasonInvalid} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage := plane.NewStage(t)
			plane.Start(t, stage, suite.Controller{})
			refuseTexts(t, stage, reason)
			run := create(t, stage, "slow", func(spec *v1alpha1.AgentRunSpec) {
				spec.TimeoutSeconds = new(int64(1))
				spec.PodAnnotations = map[string]string{kubelet.OutcomeAnnotation: kubelet.Never}
			})
			run = reached(t, stage, run, v1alpha1.Failed)
			assert.Equal(t, "JobFailed", run.Status.Reason)
			assert.Contains(t, run.Status.Message, "the API server refused the status with its text")
			suite.AssertEnded(t, run)
		})
	}
}

// TestASpecOfMoreThanAMegabyte_EndsTheRun: etcd stores the run, and has room
// for a short status.
func TestASpecOfMoreThanAMegabyte_EndsTheRun(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	plane.Start(t, stage, suite.Controller{})
	run := create(t, stage, "large", func(spec *v1alpha1.AgentRunSpec) { spec.Args = []string{strings.Repeat("a", 1_500_000)} })
	run = reached(t, stage, run, v1alpha1.Failed)
	assert.Equal(t, "InvalidSpec", run.Status.Reason)
	assert.Nil(t, run.Status.JobRef)
}

// TestNoPods_IsReportedUntilAPodRuns: pod security refuses the pods of a Job
// that has started.
func TestNoPods_IsReportedUntilAPodRuns(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	plane.Start(t, stage, suite.Controller{})
	enforce := func(level string) {
		body := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"` + level + `"}}}`)
		_, err := stage.Kube.CoreV1().Namespaces().Patch(t.Context(), stage.Namespace, types.MergePatchType, body, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	enforce("restricted")
	run := create(t, stage, "refused", func(spec *v1alpha1.AgentRunSpec) {
		spec.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	})
	now := waitDegraded(t, stage, run, "NoPods")
	assert.Equal(t, v1alpha1.Running, now.Status.Phase)
	assert.Contains(t, now.Status.Message, now.Status.JobRef.Name)
	enforce("privileged")
	run = reached(t, stage, run, v1alpha1.Succeeded)
	suite.AssertEnded(t, run)
	suite.Eventually(t, "both Events are written", func(ctx context.Context) bool {
		events, err := stage.Events(ctx, run.Name)
		require.NoError(t, err)
		body, err := json.Marshal(events)
		require.NoError(t, err)
		return strings.Contains(string(body), "NoPods") && strings.Contains(string(body), "Recovered")
	})
}

// TestARestrictedNamespace_RunsAgents: a run that asks for nothing meets the
// restricted standard of pod security.
func TestARestrictedNamespace_RunsAgents(t *testing.T) {
	t.Parallel()
	stage := plane.NewStage(t)
	plane.Start(t, stage, suite.Controller{})
	body := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	_, err := stage.Kube.CoreV1().Namespaces().Patch(t.Context(), stage.Namespace, types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)
	suite.AssertEnded(t, reached(t, stage, create(t, stage, "plain", nil), v1alpha1.Succeeded))
}

// waitDegraded waits until the run is Degraded for a reason, and returns it.
func waitDegraded(t *testing.T, stage *play.Stage, run *v1alpha1.AgentRun, reason string) (now *v1alpha1.AgentRun) {
	t.Helper()
	suite.Eventually(t, run.Name+" is Degraded: "+reason, func(ctx context.Context) bool {
		var err error
		now, err = stage.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		require.NoError(t, err)
		c := apimeta.FindStatusCondition(now.Status.Conditions, "Degraded")
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason
	})
	return now
}

// refuseJobs installs a webhook that refuses each Job of the stage with a text.
func refuseJobs(t *testing.T, stage *play.Stage, text string) (remove func()) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionapi.AdmissionReview
		if json.NewDecoder(r.Body).Decode(&review) != nil || review.Request == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		review.Response = &admissionapi.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: text, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	hooks := stage.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: stage.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "jobs.example.com",
			ClientConfig: admissionv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			FailurePolicy:     &fail,
			SideEffects:       &none,
			NamespaceSelector: inStage(stage),
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
			}},
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	remove = func() {
		_ = hooks.Delete(context.WithoutCancel(t.Context()), stage.Namespace, metav1.DeleteOptions{})
	}
	t.Cleanup(remove)
	probe := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	probe.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	probe.Spec.Template.Spec.Containers = []corev1.Container{{Name: "probe", Image: "busybox:1.37"}}
	suite.Eventually(t, "the webhook refuses Jobs", func(ctx context.Context) bool {
		_, err := stage.Kube.BatchV1().Jobs(stage.Namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})
	return remove
}

// refuseTexts installs a policy that accepts only short messages in the status
// of the stage's runs.
func refuseTexts(t *testing.T, stage *play.Stage, reason metav1.StatusReason) {
	t.Helper()
	policies := stage.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := stage.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	group := v1alpha1.GroupVersion()
	_, err := policies.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: stage.Namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: inStage(stage),
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{group.Group}, APIVersions: []string{group.Version}, Resources: []string{"agentruns/status"}},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.status.message) || size(object.status.message) < 80",
				Message:    "the message is too long",
				Reason:     &reason,
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = bindings.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: stage.Namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: stage.Namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = bindings.Delete(ctx, stage.Namespace, metav1.DeleteOptions{})
		_ = policies.Delete(ctx, stage.Namespace, metav1.DeleteOptions{})
	})
	probe := create(t, stage, "probe", func(spec *v1alpha1.AgentRunSpec) { spec.Suspend = true })
	body := []byte(`{"status":{"message":"` + strings.Repeat("a", 100) + `"}}`)
	suite.Eventually(t, "the policy refuses a long text", func(ctx context.Context) bool {
		_, err := stage.Runs.Patch(ctx, probe.Name, types.MergePatchType, body, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return apierrors.ReasonForError(err) == reason
	})
}

// inStage selects the stage's namespace.
func inStage(stage *play.Stage) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: stage.Namespace}}
}
