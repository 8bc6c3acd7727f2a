// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// A webhook or the writer of a Job's status may send megabytes, which etcd
// would refuse in a status.
func TestAttempt_BoundsTheTextsOfOthers(t *testing.T) {
	const value = "canary-5f1d7c2e9b with three words"
	long := strings.Repeat("no pods for you ", 1<<16)
	denied := func(text string) error {
		return apierrors.NewForbidden(corev1.Resource("jobs"), "run-nightly", errors.New(text))
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "run-nightly", nil)
	invalid.ErrStatus.Message += long
	tests := map[string]struct {
		reason  string
		refusal error
		failed  bool // the Job has failed, with such a reason and message
		want    string
	}{
		"Webhook": {"The beginning of a refusal is enough.", denied(long), false, "no pods for you"},
		"OneWord": {"Half a word may be half a secret.", denied(strings.Repeat("x", 1<<20)), false, "forbidden"},
		"Invalid": {"It ends the run.", invalid, false, "is invalid"},
		"Secret":  {"A secret at the cut is masked before the cut.", denied(strings.Repeat("filler ", 575) + value + long), false, "filler"},
		"Job":     {"Each client with the right may write the status of a Job.", nil, true, "Job run-nightly failed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := metav1.Now()
				run, job := newStarted("nightly", &began)
				run.Spec.SecretRef = &v1alpha1.SecretRef{Name: "s", Key: "token"}
				if !tc.failed {
					run.Status = v1alpha1.AgentRunStatus{}
				}
				a := &admission{server: newServer(run), secret: map[string][]byte{"token": []byte(value)}, refusal: func() error { return tc.refusal }}
				job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
				job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: strings.Repeat("R", 1<<20), Message: long}}
				out := attemptOn(t, a, run, func(c *Controller) {
					if tc.failed {
						require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
					}
				})
				st := a.runs[run.Name].Status
				assert.Contains(t, st.Message, tc.want, tc.reason)
				assert.Less(t, len(st.Message), 1500)
				assert.Less(t, len(out.err), 1100)
				assert.Less(t, len(out.status), 8<<10)
				for _, text := range append(append(out.log, out.spans...), out.events...) {
					assert.Less(t, len(text), 3<<10)
				}
				assert.Len(t, out.events, 1)
				all := strings.Join(append(append(append(out.log, out.spans...), out.events...), out.err, out.status), "\n")
				assert.NotContains(t, all, "canary", tc.reason)
			})
		})
	}
}
