// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

// NewRun returns a run whose pod takes 200 ms. The name may end in a number.
func NewRun(name string) *v1alpha1.AgentRun {
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: name}}
	run.Spec.Image = "busybox:1.37"
	run.Spec.PodAnnotations = map[string]string{kubelet.DelayAnnotation: "200ms"}
	return run
}

// NewLoad returns the i-th run of a mixed load: a third succeed, a third
// succeed and release their Job as soon as its result is recorded, and a third
// fail.
func NewLoad(name string, i int) *v1alpha1.AgentRun {
	run := NewRun(fmt.Sprintf("%s-%05d", name, i))
	switch i % 3 {
	case 1:
		run.Spec.JobTTLSecondsAfterFinished = new(int32(0))
	case 2:
		run.Spec.PodAnnotations[kubelet.OutcomeAnnotation] = kubelet.Fail
	}
	return run
}

// Truth returns how a run of NewLoad ends.
func Truth(run *v1alpha1.AgentRun) v1alpha1.Phase {
	if run.Spec.PodAnnotations[kubelet.OutcomeAnnotation] == kubelet.Fail {
		return v1alpha1.Failed
	}
	return v1alpha1.Succeeded
}
