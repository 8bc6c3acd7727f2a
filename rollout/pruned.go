// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// PrunedFields lists the fields of r that a CRD would drop, sorted, such as
// spec.template.spec.containers[0].bindMountOptions: Argo Rollouts knows the
// pod of the Kubernetes it was built with, and a cluster keeps of newer fields
// nothing. schema is the CustomResourceDefinition as decoded from JSON or YAML,
// or the openAPIV3Schema within it. A schema that cannot be one of a Rollout is
// an error. A nil r is an error too.
func (r *Rollout) PrunedFields(schema map[string]any) ([]string, error) {
	if r == nil {
		return nil, errors.New("rollout: prunedFields: the Rollout is nil")
	}
	root, err := rootSchema(schema)
	if err != nil {
		return nil, err
	}
	u, err := r.Unstructured()
	if err != nil {
		return nil, err
	}
	var lost []string
	// The server keeps apiVersion, kind and metadata of every object.
	prune(u.Object["spec"], property(root, "spec"), "spec", &lost)
	slices.Sort(lost)
	return lost, nil
}

func rootSchema(schema map[string]any) (map[string]any, error) {
	if schema["kind"] == "CustomResourceDefinition" {
		spec, _ := schema["spec"].(map[string]any)
		versions, _ := spec["versions"].([]any)
		schema = nil
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if version["name"] == GVK().Version {
				holder, _ := version["schema"].(map[string]any)
				schema, _ = holder["openAPIV3Schema"].(map[string]any)
			}
		}
	}
	if properties(property(schema, "spec")) == nil {
		return nil, fmt.Errorf("rollout: prunedFields: want the CustomResourceDefinition of Rollout with version %s, or its openAPIV3Schema: no spec in it", GVK().Version)
	}
	return schema, nil
}

func properties(schema map[string]any) map[string]any {
	p, _ := schema["properties"].(map[string]any)
	return p
}

func property(schema map[string]any, name string) map[string]any {
	s, _ := properties(schema)[name].(map[string]any)
	return s
}

// prune follows apiextensions' structural pruning: a field without a schema
// goes, unless its parent preserves unknown ones. Embedded resources, which
// keep a little more, no schema of a Rollout has.
func prune(value any, schema map[string]any, path string, lost *[]string) {
	switch v := value.(type) {
	case map[string]any:
		keep := schema["x-kubernetes-preserve-unknown-fields"] == true || schema["additionalProperties"] == true
		extra, _ := schema["additionalProperties"].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			sub, known := properties(schema)[key].(map[string]any)
			if !known && extra != nil {
				sub, known = extra, true
			}
			switch {
			case known:
				prune(v[key], sub, path+"."+key, lost)
			case !keep:
				*lost = append(*lost, path+"."+key)
			}
		}
	case []any:
		items, ok := schema["items"].(map[string]any)
		if !ok {
			return
		}
		for i := range v {
			prune(v[i], items, fmt.Sprintf("%s[%d]", path, i), lost)
		}
	}
}
