// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/proompteng/controllerkit/rollout"
)

// noServices refuses a Rollout whose controller takes a Service over; why has a
// verb for its name.
func (p *planner) noServices(tree map[string]any, path *field.Path, why string) {
	strategy, _, _ := unstructured.NestedMap(tree, "spec", "strategy")
	for _, names := range [][]string{
		{"canary", "canaryService"},
		{"canary", "stableService"},
		{"canary", "pingPong", "pingService"},
		{"canary", "pingPong", "pongService"},
		{"blueGreen", "activeService"},
		{"blueGreen", "previewService"},
	} {
		service, _, _ := unstructured.NestedString(strategy, names...)
		if service != "" {
			at := path.Child("spec", "strategy").Child(names[0], names[1:]...)
			p.add(field.Forbidden(at, fmt.Sprintf(why, service)))
		}
	}
}

// noServicesYet: a Service that the Rollout refers to would select the hash of
// pods that are not there yet.
func (p *planner) noServicesYet(to *rollout.Rollout) {
	u, err := to.Unstructured()
	if err != nil {
		p.add(field.InternalError(field.NewPath("spec"), err))
		return
	}
	p.noServices(u.Object, nil, "the controller would point the Service %s at pods that are "+
		"not there yet; "+
		"switch to a canary that refers to no Service, and set it once the Rollout is healthy")
}

// noServicesAnyMore refuses a Rollout that refers to a Service: it selects the
// hash of the Rollout's pods, which the Deployment's pods do not have. The
// controller removes the hash once the Rollout does not refer to the Service.
func (p *planner) noServicesAnyMore(from *unstructured.Unstructured) {
	p.noServices(from.Object, field.NewPath("live"), "the controller keeps the Service %s to "+
		"the pods of the Rollout; "+
		"make it a canary that refers to no Service, wait until the selector of the "+
		"Service has no "+
		"rollouts-pod-template-hash, then make a new plan")
}
