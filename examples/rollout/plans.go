// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// objects are a document, or the items of it if it is the List that kubectl
// writes.
func objects(d *document) ([]*document, []string) {
	if d.kind != "List" {
		return []*document{d}, nil
	}
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := yaml.Unmarshal(d.raw, &list); err != nil {
		return nil, []string{fmt.Sprintf("%s: %v", d, err)}
	}
	var out []*document
	for i, item := range list.Items {
		o := &document{from: fmt.Sprintf("%s: item %d", d.from, i+1)}
		var err error
		if o.raw, err = yaml.Marshal(item); err == nil {
			err = o.head()
		}
		if err != nil {
			return nil, []string{fmt.Sprintf("%s: %v", o.from, err)}
		}
		out = append(out, o)
	}
	return out, nil
}

// cluster holds the documents that a plan needs.
type cluster struct {
	deployments []appsv1.Deployment
	rollouts    []unstructured.Unstructured
	others      []unstructured.Unstructured
}

func gather(docs []*document) (cluster, []string) {
	var c cluster
	var problems []string
	for _, d := range docs {
		objs, errs := objects(d)
		problems = append(problems, errs...)
		for _, o := range objs {
			problems = append(problems, c.take(o)...)
		}
	}
	return c, problems
}

func (c *cluster) take(o *document) (problems []string) {
	if o.kind == "Deployment" {
		obj, problems := decode[appsv1.Deployment](o)
		c.deployments = append(c.deployments, obj)
		return problems
	}
	u, err := o.unstructured()
	switch {
	case err != nil:
		return []string{err.Error()}
	case o.kind == rollout.GVK().Kind:
		c.rollouts = append(c.rollouts, u)
	case o.kind != "":
		c.others = append(c.others, u)
	}
	return nil
}

// plans is the script of the one workload in the input.
func plans(c *call, docs []*document) result {
	in, problems := gather(docs)
	if len(problems) > 0 {
		return result{problems: problems}
	}
	var scripts []string
	var warnings []string // the script has them too, as comments
	write := func(name string, p plan.Plan, errs field.ErrorList) {
		for _, w := range p.Warnings {
			warnings = append(warnings, name+": "+w)
		}
		for _, e := range errs {
			problems = append(problems, name+": "+e.Error())
		}
		scripts = append(scripts, p.String())
	}
	if c.rollback {
		for i := range in.rollouts {
			live := &in.rollouts[i]
			p, errs := plan.Rollback(live, in.deployment(live), in.others, c.plan)
			write("Rollout "+live.GetName(), p, errs)
		}
	} else {
		for i := range in.deployments {
			live := &in.deployments[i]
			p, errs := c.migration(live, in.others)
			write("Deployment "+live.Name, p, errs)
		}
	}
	if len(scripts) == 0 {
		const text = "rollout: -plan: the input has no live Deployment, or for -rollback no live Rollout"
		problems = []string{text}
	}
	if len(scripts) > 1 {
		const text = "rollout: -plan: a plan is for one workload; pass one live object at a time"
		problems = append(problems, text)
	}
	return result{out: strings.Join(scripts, ""), problems: problems, warnings: warnings}
}

// migration is the plan that replaces live by its Rollout.
func (c *call) migration(
	live *appsv1.Deployment, others []unstructured.Unstructured,
) (plan.Plan, field.ErrorList) {
	to, errs := rollout.Convert(live, c.options)
	if len(errs) > 0 {
		return plan.Plan{}, errs
	}
	return plan.Migration(live, to, others, c.plan)
}

// deployment is the Deployment that a Rollout goes back to: the one with its
// name.
func (c *cluster) deployment(live *unstructured.Unstructured) *appsv1.Deployment {
	for i := range c.deployments {
		d := &c.deployments[i]
		if d.Name == live.GetName() && (d.Namespace == "" || d.Namespace == live.GetNamespace()) {
			return d
		}
	}
	return nil
}
