// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod. The package comment lists the accepted values.
const (
	OutcomeAnnotation = "controlplane.controllerkit.dev/outcome"
	DelayAnnotation   = "controlplane.controllerkit.dev/delay"
)

// Values of [OutcomeAnnotation].
const (
	Succeed = "succeed"
	Fail    = "fail"
	Never   = "never"
)

// defaultDelay is long enough for a watcher to see the pod run.
const defaultDelay = 300 * time.Millisecond

// plan is the plan in a pod's annotations.
type plan struct {
	outcome string
	delay   time.Duration
}

// planFor reads the annotations.
func planFor(pod *corev1.Pod) (plan, error) {
	p := plan{outcome: Succeed, delay: defaultDelay}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		p.outcome = Never
	}
	var err error
	if value, ok := pod.Annotations[DelayAnnotation]; ok {
		p.delay, err = time.ParseDuration(value)
	}
	if value, ok := pod.Annotations[OutcomeAnnotation]; ok {
		p.outcome = value
	}
	if p.outcome != Succeed && p.outcome != Fail && p.outcome != Never {
		err = errors.Join(err, fmt.Errorf("%s: %q is not succeed, fail or never",
			OutcomeAnnotation, p.outcome))
	}
	return p, err
}

// ending is how the containers of a pod ended.
type ending struct {
	code    int32
	reason  string
	message string
}

// ending returns the end that is planned.
func (p plan) ending() *ending {
	if p.outcome == Fail {
		return &ending{1, "Error", "exit code 1"}
	}
	return &ending{0, "Completed", "exit code 0"}
}
