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
)

// render is the stream with its Deployments as Rollouts.
func render(c *call, docs []*document) result {
	var r result
	var out []byte
	for _, d := range docs {
		if c.enabled && d.kind == "Deployment" {
			text, errs := convert(c, d)
			r.problems = append(r.problems, errs...)
			out = follow(out, append(preamble(d.raw), text...))
			continue
		}
		if c.enabled {
			r.problems = append(r.problems, hidden(d)...)
			r.warnings = append(r.warnings, stillTargets(docs, d)...)
		}
		out = follow(out, d.raw)
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
	objs, errs := objects(d)
	if d.kind == "List" && slices.ContainsFunc(objs, func(o *document) bool { return o.kind == "Deployment" }) {
		errs = append(errs, fmt.Sprintf("%s: it has Deployments; write its items as documents", d))
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

// stillTargets: an autoscaler of a Deployment that becomes a Rollout would
// scale nothing.
func stillTargets(docs []*document, d *document) []string {
	if d.targetKind == "Deployment" && slices.ContainsFunc(docs, func(o *document) bool {
		return o.kind == d.targetKind && o.name == d.targetName
	}) {
		return []string{fmt.Sprintf("%s: spec.scaleTargetRef: Deployment %s becomes a Rollout of %s", d, d.targetName, rollout.GVK().GroupVersion())}
	}
	return nil
}

// decode is strict: what this program does not know it would lose.
func decode[T any](d *document) (T, []string) {
	var obj T
	if want, ok := versions()[d.kind]; ok && d.apiVersion != want {
		return obj, []string{fmt.Sprintf("%s: apiVersion: %q is not accepted; want %s", d, d.apiVersion, want)}
	}
	if err := yaml.UnmarshalStrict(d.raw, &obj); err != nil {
		return obj, []string{fmt.Sprintf("%s: %v", d, err)}
	}
	return obj, nil
}

func versions() map[string]string {
	return map[string]string{"Deployment": "apps/v1", "HorizontalPodAutoscaler": "autoscaling/v2"}
}
