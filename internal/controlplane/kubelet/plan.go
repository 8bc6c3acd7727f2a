// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod. The package comment lists the accepted values.
const (
	OutcomeAnnotation  = "controlplane.controllerkit.dev/outcome"
	ExitCodeAnnotation = "controlplane.controllerkit.dev/exit-code"
	DelayAnnotation    = "controlplane.controllerkit.dev/delay"
	LingerAnnotation   = "controlplane.controllerkit.dev/linger"
	MessageAnnotation  = "controlplane.controllerkit.dev/message"
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
	code    int32
	delay   time.Duration
	linger  time.Duration
	message string
}

// planFor reads the annotations. The error names every invalid value and the
// accepted ones.
func planFor(pod *corev1.Pod) (plan, error) {
	p := plan{outcome: Succeed, delay: defaultDelay, message: pod.Annotations[MessageAnnotation]}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		p.outcome = Never
	}
	var errs []error
	refuse := func(name, value, accepted string) {
		errs = append(errs, fmt.Errorf("annotation %s: %q is not accepted; want %s", name, value, accepted))
	}
	if value, set := pod.Annotations[OutcomeAnnotation]; set {
		switch value {
		case Succeed, Fail, Never:
			p.outcome = value
		default:
			refuse(OutcomeAnnotation, value, "succeed, fail or never")
		}
	}
	if p.outcome == Fail {
		p.code = 1
	}
	if value, set := pod.Annotations[ExitCodeAnnotation]; set {
		code, err := strconv.ParseUint(value, 10, 8)
		if err != nil || code == 0 || p.outcome != Fail {
			refuse(ExitCodeAnnotation, value, "a number from 1 to 255, with outcome fail")
		}
		p.code = int32(code)
	}
	duration := func(name string, field *time.Duration) {
		if value, set := pod.Annotations[name]; set {
			d, err := time.ParseDuration(value)
			if err != nil || d < 0 {
				refuse(name, value, "a Go duration that is not negative, such as 500ms")
				return
			}
			*field = d
		}
	}
	duration(DelayAnnotation, &p.delay)
	duration(LingerAnnotation, &p.linger)
	return p, errors.Join(errs...)
}

// ending is how the containers of a pod ended.
type ending struct {
	code    int32
	reason  string
	message string
}

// ending returns the end that is planned.
func (p plan) ending() ending {
	e := ending{code: p.code, reason: "Completed", message: p.message}
	if p.code != 0 {
		e.reason = "Error"
	}
	if e.message == "" {
		e.message = fmt.Sprintf("exit code %d", p.code)
	}
	return e
}
