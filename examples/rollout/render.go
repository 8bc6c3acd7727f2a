// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

// render is the stream with its Deployments as Rollouts.
func render(c *call, docs []*document) result {
	var r result
	var out []byte
	for _, d := range docs {
		if c.converts(d) {
			text, errs := convert(c, d)
			r.problems = append(r.problems, errs...)
			out = follow(out, append(preamble(d.raw), text...))
			continue
		}
		raw := d.raw
		if c.enabled {
			r.problems = append(r.problems, hidden(d)...)
			text, err := c.retarget(docs, d)
			if err != nil {
				r.problems = append(r.problems, err.Error())
			}
			if text != nil {
				raw = append(preamble(d.raw), text...)
			}
		}
		out = follow(out, raw)
	}
	for _, name := range c.only {
		known := slices.ContainsFunc(docs, func(d *document) bool {
			return d.kind == "Deployment" && d.name == name
		})
		if !known {
			problem := fmt.Sprintf("rollout: -only: the input has no Deployment %s", name)
			r.problems = append(r.problems, problem)
		}
	}
	r.out = string(out)
	return r
}

// follow adds a document to a stream. Within a file a separator is there
// already; between two files there may be none.
func follow(out, doc []byte) []byte {
	if len(out) > 0 && len(doc) > 0 {
		if out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		if first, _, _ := bytes.Cut(doc, []byte("\n")); !separates(first) {
			out = append(out, "---\n"...)
		}
	}
	return append(out, doc...)
}

// hidden refuses a List with Deployments, which would pass unconverted.
func hidden(d *document) []string {
	if d.kind == "DeploymentList" {
		return []string{fmt.Sprintf("%s: write its items as documents", d)}
	}
	if d.kind != "List" {
		return nil
	}
	objs, errs := objects(d)
	for _, o := range objs {
		switch o.kind {
		case "Deployment", "HorizontalPodAutoscaler", "ScaledObject", "VerticalPodAutoscaler":
			errs = append(errs, fmt.Sprintf("%s: it has a %s; write its items as documents", d, o.kind))
		}
	}
	return errs
}

func convert(c *call, d *document) (string, []string) {
	deployment, errs := decode[appsv1.Deployment](d)
	if len(errs) > 0 {
		return "", errs
	}
	r, list := rollout.Convert(&deployment, c.options)
	for _, e := range list {
		errs = append(errs, fmt.Sprintf("%s: %v", d, e))
	}
	if r == nil {
		return "", errs
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		errs = append(errs, fmt.Sprintf("%s: %v", d, err))
	}
	return string(text), errs
}

// retarget is an autoscaler of a Deployment that becomes a Rollout, pointed at
// that, or nil if the document is none. It would scale nothing otherwise.
func (c *call) retarget(docs []*document, d *document) ([]byte, error) {
	if blank(d.raw) {
		return nil, nil
	}
	u, err := d.unstructured()
	if err != nil {
		return nil, nil //nolint:nilerr // a document without an object is passed through
	}
	for _, o := range docs {
		isElsewhere := d.namespace != "" && o.namespace != "" && d.namespace != o.namespace
		if isElsewhere || !c.converts(o) {
			continue
		}
		changed, err := plan.Retarget(&u, o.name, rollout.GVK())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		if changed {
			return yaml.Marshal(u.Object)
		}
	}
	return nil, nil
}

// decode is strict: what this program does not know it would lose.
func decode[T any](d *document) (T, []string) {
	var obj T
	const want = "apps/v1"
	if d.apiVersion != want {
		problem := fmt.Sprintf("%s: apiVersion: %q is not accepted; want %s", d, d.apiVersion, want)
		return obj, []string{problem}
	}
	if err := yaml.UnmarshalStrict(d.raw, &obj); err != nil {
		return obj, []string{fmt.Sprintf("%s: %v", d, err)}
	}
	return obj, nil
}
