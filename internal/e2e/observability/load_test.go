// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// load creates the samples, and then runs with a pause in between until the
// test ends. Most succeed, and every kind of failure repeats.
func load(t *testing.T, stage *play.Stage) {
	t.Helper()
	samples, err := play.Load()
	require.NoError(t, err)
	for _, s := range samples {
		require.NoError(t, s.Create(t.Context(), stage))
	}
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			_, err := stage.Runs.Create(t.Context(), run(i), metav1.CreateOptions{})
			if t.Context().Err() != nil {
				return
			}
			assert.NoError(t, err)
			suite.Wait(t.Context(), 250*time.Millisecond)
		}
	}()
}

// run returns the i-th run of the load.
func run(i int) *v1alpha1.AgentRun {
	r := play.NewRun(fmt.Sprintf("load-%05d", i))
	r.Spec.PodAnnotations[kubelet.DelayAnnotation] = fmt.Sprintf("%dms", 100+37*i%900)
	switch i % 8 {
	case 3:
		r.Spec.PodAnnotations[kubelet.OutcomeAnnotation] = kubelet.Fail
	case 5: // each of its reconciles fails
		r.Spec.SecretRef = &v1alpha1.SecretRef{Name: "never", Key: "token"}
	case 7:
		r.Spec.Parameters = map[string]string{"prompt": "refused"}
	}
	return r
}
