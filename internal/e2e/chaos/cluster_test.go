// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// hostile are texts that a program may take for something else.
var hostile = []string{
	"line\nbreak", "tab\t\"quote\" \\", "{{ .Values }} $(HOME) ${HOME} `id`", "%s%n%!d(MISSING)", "\u202eright to left", "<script>", "' OR 1=1 --", "\x7f\u2028", strings.Repeat("é", 4096),
}

// TestAHostileNamespace: what a cluster or a namespace forbids, or its users
// write.
func TestAHostileNamespace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		begin  func(ctx context.Context, t *testing.T, w *world) (end func())
		change func(i int, spec *v1alpha1.AgentRunSpec)
	}{
		"Quota":       {reason: "No Job may be created for some seconds.", begin: withoutJobs},
		"FlowControl": {reason: "Priority and fairness refuses each request for some seconds.", begin: withoutSeats},
		"Texts":       {reason: "Arguments are texts with a meaning elsewhere.", change: withTexts},
		"LargeSpecs":  {reason: "Each Job has 900 KiB.", change: withLargeSpec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w, _ := behindProxy(t)
			w.reason = tc.reason
			end := func() {}
			if tc.begin != nil {
				end = tc.begin(ctx, t, w)
			}
			const last = 14
			for i := 3; i <= last; i++ {
				run := newRun(i)
				if tc.change != nil {
					tc.change(i, &run.Spec)
				}
				_, err := suite.Create(ctx, w.Stage, run)
				require.NoError(t, err)
				suite.Wait(ctx, 200*time.Millisecond)
			}
			end()
			w.holds(ctx, t, last+1)
		})
	}
}

func withTexts(i int, spec *v1alpha1.AgentRunSpec) { spec.Args = []string{hostile[i%len(hostile)]} }

func withLargeSpec(_ int, spec *v1alpha1.AgentRunSpec) {
	spec.Args = []string{strings.Repeat("x", 900<<10)}
}

func withoutJobs(ctx context.Context, t *testing.T, w *world) func() {
	t.Helper()
	none := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}}
	none.Spec.Hard = corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	require.NoError(t, w.Limit(ctx, none))
	return func() {
		suite.Eventually(t, "a run says that the quota is exceeded", func(ctx context.Context) bool {
			list, err := w.Runs.List(ctx, metav1.ListOptions{})
			return err == nil && slices.ContainsFunc(list.Items, func(run v1alpha1.AgentRun) bool {
				return strings.Contains(run.Status.Message, "exceeded quota")
			})
		})
		require.NoError(t, w.Kube.CoreV1().ResourceQuotas(w.Namespace).Delete(ctx, none.Name, metav1.DeleteOptions{}))
	}
}

// withoutSeats gives the controller's user a priority level in which no request
// is served.
func withoutSeats(ctx context.Context, t *testing.T, w *world) func() {
	t.Helper()
	level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.user}}
	level.Spec.Type = flowcontrolv1.PriorityLevelEnablementLimited
	level.Spec.Limited = &flowcontrolv1.LimitedPriorityLevelConfiguration{
		NominalConcurrencyShares: new(int32(0)),
		BorrowingLimitPercent:    new(int32(0)),
		LimitResponse:            flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
	}
	all := flowcontrolv1.ResourcePolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, Namespaces: []string{"*"}}
	schema := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: w.user}}
	schema.Spec.PriorityLevelConfiguration.Name = level.Name
	schema.Spec.MatchingPrecedence = 2
	schema.Spec.Rules = []flowcontrolv1.PolicyRulesWithSubjects{{
		Subjects:      []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: w.user}}},
		ResourceRules: []flowcontrolv1.ResourcePolicyRule{all},
	}}
	flows := w.Kube.FlowcontrolV1()
	_, err := flows.PriorityLevelConfigurations().Create(ctx, level, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = flows.FlowSchemas().Create(ctx, schema, metav1.CreateOptions{})
	require.NoError(t, err)
	return func() {
		suite.Wait(ctx, either(12*time.Second, 0))
		suite.Eventually(t, "a request is refused", func(context.Context) bool {
			return slices.ContainsFunc(w.requests(t), func(r controlplane.Request) bool {
				return r.Response.Code == http.StatusTooManyRequests
			})
		})
		require.NoError(t, flows.FlowSchemas().Delete(ctx, schema.Name, metav1.DeleteOptions{}))
		require.NoError(t, flows.PriorityLevelConfigurations().Delete(ctx, level.Name, metav1.DeleteOptions{}))
	}
}

// TestTheCRDIsInstalledAgain: the kind is gone with all its objects, and comes
// back. No other test runs in that time.
func TestTheCRDIsInstalledAgain(t *testing.T) {
	ctx, w := steady(t)
	_, err := plane.Admin.Run(ctx, nil, "delete", "crd", "agentruns."+v1alpha1.GroupVersion().Group)
	require.NoError(t, err)
	suite.Wait(ctx, 3*time.Second)
	require.NoError(t, plane.Admin.Install(ctx))
	require.NoError(t, w.load(ctx, 0, 11, 100*time.Millisecond))
	w.holds(ctx, t, 12)
}
