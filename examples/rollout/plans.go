// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
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
	hpas        []autoscalingv2.HorizontalPodAutoscaler
}

func gather(docs []*document) (cluster, []string) {
	var c cluster
	var problems []string
	for _, d := range docs {
		objs, errs := objects(d)
		problems = append(problems, errs...)
		for _, o := range objs {
			var errs []string
			switch o.kind {
			case "Deployment":
				var obj appsv1.Deployment
				obj, errs = decode[appsv1.Deployment](o)
				c.deployments = append(c.deployments, obj)
			case "HorizontalPodAutoscaler":
				var obj autoscalingv2.HorizontalPodAutoscaler
				obj, errs = decode[autoscalingv2.HorizontalPodAutoscaler](o)
				c.hpas = append(c.hpas, obj)
			case rollout.GVK().Kind:
				u := unstructured.Unstructured{}
				if err := yaml.Unmarshal(o.raw, &u.Object); err != nil {
					errs = append(errs, fmt.Sprintf("%s: %v", o, err))
				}
				c.rollouts = append(c.rollouts, u)
			}
			problems = append(problems, errs...)
		}
	}
	return c, problems
}

// plans is one runbook for each workload, one after the other.
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
	o := c.plan
	o.Time = time.Now()
	if c.rollback {
		for i := range in.rollouts {
			live := &in.rollouts[i]
			p, errs := plan.Rollback(live, in.deployment(live), in.hpas, o)
			write("Rollout "+live.GetName(), p, errs)
		}
	} else {
		for i := range in.deployments {
			live := &in.deployments[i]
			to, errs := rollout.Convert(live, c.options)
			var p plan.Plan
			if len(errs) == 0 {
				p, errs = plan.Migration(live, to, in.hpas, o)
			}
			write("Deployment "+live.Name, p, errs)
		}
	}
	if len(scripts) == 0 {
		problems = []string{"rollout: -plan: the input has no live Deployment, or for -rollback no live Rollout"}
	}
	out := strings.Join(scripts, "")
	if len(scripts) > 1 { // a plan that stops must stop those after it
		out = "#!/bin/sh\n(\nset -e\n" + out + ")\n"
	}
	return result{out: out, problems: problems, warnings: warnings}
}

// deployment is the Deployment that a Rollout goes back to: the one in its
// workloadRef, or the one with its name.
func (c *cluster) deployment(live *unstructured.Unstructured) *appsv1.Deployment {
	name, _, _ := unstructured.NestedString(live.Object, "spec", "workloadRef", "name")
	if name == "" {
		name = live.GetName()
	}
	for i := range c.deployments {
		d := &c.deployments[i]
		if d.Name == name && (d.Namespace == "" || d.Namespace == live.GetNamespace()) {
			return d
		}
	}
	return nil
}
