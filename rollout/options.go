// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Options changes what a Deployment becomes. The zero value is the safe canary
// of the package comment. Of few pods a weight is a rough share:
// [Rollout.Counts] says how many it is.
type Options struct {
	// Steps are what the new version goes through, and are copied. Empty means
	// SetWeight(20), PauseManual().
	Steps []Step
	// MaxSurge is how many pods more than replicas may run: a number or a
	// percentage. Nil means the value of the Deployment. If the Deployment sets
	// neither maxSurge nor maxUnavailable, or both to the default 25%, nil
	// means 1. If it sets maxUnavailable alone, nil means 25%, as in the
	// Deployment.
	MaxSurge *intstr.IntOrString
	// MaxUnavailable is how many pods fewer than replicas may be available: a
	// number or a percentage. Nil means the value of the Deployment. If the
	// Deployment sets neither of the two, or both to the default 25%, nil means
	// 0. If it sets maxSurge alone, nil means 25%, as in the Deployment.
	MaxUnavailable *intstr.IntOrString
	// ProgressDeadlineAbort goes back to the old version when the new one is
	// not ready within progressDeadlineSeconds. False means it stays,
	// reported as Degraded, as a Deployment does.
	ProgressDeadlineAbort bool
	// InstanceID is for controllers started with --instance-id, which ignore
	// other Rollouts. Empty means none.
	InstanceID string
	// OmitReplicas leaves spec.replicas to a HorizontalPodAutoscaler. False
	// means the Deployment's. Switch a running Deployment with it by package
	// plan alone, which hands the replicas over: the controller starts a
	// Rollout without replicas at 1.
	OmitReplicas bool
	// Mutate reaches every other field. It is called last, and its result is
	// checked like any other: a workloadRef, blue-green and a status are
	// refused, and objects that this package only carries, such as
	// trafficRouting, are left to the controller. Nil means no change.
	Mutate func(*Rollout)

	_ struct{}
}

// SetWeight lets about w percent of the pods, 1 to 99, run the new version.
// [Rollout.Counts] says how many that are.
func SetWeight(w int32) Step { return Step{SetWeight: &w} }

// PauseManual waits until a person promotes or aborts.
func PauseManual() Step { return Step{Pause: &Pause{}} }

// PauseFor waits for d: whole seconds, at least one. Nothing is rounded:
// Convert refuses a fraction of a second, 0 and a negative d.
func PauseFor(d time.Duration) Step {
	return Step{Pause: &Pause{Duration: ptr.To(intstr.FromString(d.String()))}}
}
