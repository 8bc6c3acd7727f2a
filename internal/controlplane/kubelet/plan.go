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
	LingerAnnotation  = "controlplane.controllerkit.dev/linger"
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
	linger  time.Duration
}

// planFor reads the annotations. The error names every invalid value and the
// accepted ones.
func planFor(pod *corev1.Pod) (plan, error) {
	p := plan{outcome: Succeed, delay: defaultDelay}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		p.outcome = Never
	}
	var errs []error
	for name, value := range pod.Annotations {
		accepted, ok := "a Go duration that is not negative, such as 500ms", true
		switch name {
		case OutcomeAnnotation:
			accepted = "succeed, fail or never"
			p.outcome, ok = value, value == Succeed || value == Fail || value == Never
		case DelayAnnotation:
			p.delay, ok = duration(value)
		case LingerAnnotation:
			p.linger, ok = duration(value)
		}
		if !ok {
			err := fmt.Errorf("annotation %s: %q is not accepted; want %s", name, value, accepted)
			errs = append(errs, err)
		}
	}
	return p, errors.Join(errs...)
}

func duration(value string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(value)
	return d, err == nil && d >= 0
}

// ending is how the containers of a pod ended.
type ending struct {
	code    int32
	reason  string
	message string
}

// ending returns the end that is planned.
func (p plan) ending() ending {
	if p.outcome == Fail {
		return ending{1, "Error", "exit code 1"}
	}
	return ending{0, "Completed", "exit code 0"}
}
