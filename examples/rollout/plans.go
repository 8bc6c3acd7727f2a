// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

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

// cluster holds the documents that a plan needs. An object with a uid is live.
type cluster struct {
	manifests []appsv1.Deployment
	live      []unstructured.Unstructured // Deployments and Rollouts
	others    []unstructured.Unstructured
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

func (c *cluster) take(o *document) []string {
	if o.kind == "" {
		return nil
	}
	u, err := o.unstructured()
	if err != nil {
		return []string{err.Error()}
	}
	switch {
	case o.kind == "Deployment" && u.GetUID() == "":
		obj, problems := decode[appsv1.Deployment](o)
		c.manifests = append(c.manifests, obj)
		return problems
	case o.kind == "Deployment", o.kind == rollout.GVK().Kind:
		c.live = append(c.live, u)
	default:
		c.others = append(c.others, u)
	}
	return nil
}

// plans is the script of the one live workload in the input.
func plans(c *call, docs []*document) result {
	in, problems := gather(docs)
	if len(problems) > 0 {
		return result{problems: problems}
	}
	kind := "Deployment"
	if c.rollback {
		kind = rollout.GVK().Kind
	}
	live := slices.DeleteFunc(in.live, func(u unstructured.Unstructured) bool { return u.GetKind() != kind })
	if len(live) != 1 {
		const text = "rollout: a plan is for one live %s, as kubectl get prints it; the input has %d"
		return result{problems: []string{fmt.Sprintf(text, kind, len(live))}}
	}
	from := &live[0]
	manifest := in.manifest(from)
	if manifest == nil {
		const text = "rollout: the input has no manifest of Deployment %s without a uid, " +
			"such as helm template prints"
		return result{problems: []string{fmt.Sprintf(text, from.GetName())}}
	}
	p, errs := c.switchTo(from, manifest, in.others)
	r := result{out: p.String()}
	for _, w := range p.Warnings { // the script has them too
		r.warnings = append(r.warnings, kind+" "+from.GetName()+": "+w)
	}
	for _, e := range errs {
		r.problems = append(r.problems, kind+" "+from.GetName()+": "+e.Error())
	}
	return r
}

// switchTo is the plan that replaces from by the Rollout of the manifest, or
// with -rollback by the manifest.
func (c *call) switchTo(
	from *unstructured.Unstructured, manifest *appsv1.Deployment, others []unstructured.Unstructured,
) (plan.Plan, field.ErrorList) {
	if c.rollback {
		return plan.Rollback(from, manifest, others, c.plan)
	}
	to, errs := rollout.Convert(manifest, c.options)
	if len(errs) > 0 {
		return plan.Plan{}, errs
	}
	return plan.Migration(from, to, others, c.plan)
}

// manifest is the Deployment with the name of a live workload, or nil.
func (c *cluster) manifest(live *unstructured.Unstructured) *appsv1.Deployment {
	for i := range c.manifests {
		d := &c.manifests[i]
		if d.Name == live.GetName() && (d.Namespace == "" || d.Namespace == live.GetNamespace()) {
			return d
		}
	}
	return nil
}
