// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// The resources of the tests. AgentRuns are typed, with a CRD that
// controller-gen made. The others are used through the dynamic client.
var (
	runs    = v1alpha1.GroupVersion().WithResource("agentruns")
	tasks   = v1alpha1.GroupVersion().WithResource("tasks")   // other names, a default, free conditions
	plains  = v1alpha1.GroupVersion().WithResource("plains")  // no status subresource
	stricts = v1alpha1.GroupVersion().WithResource("stricts") // required fields, a default
)

// example is the folder of the example that has AgentRuns.
var example = filepath.Join("..", "..", "..", "examples", "agentrun")

// taskNames are the field names of a kind that is older than the contract.
var taskNames = status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime"}

// writeCRDs writes the CRDs of all kinds into dir and returns their paths.
func writeCRDs(dir string) ([]string, error) {
	paths := []string{filepath.Join(example, "crd", "agents.controllerkit.dev_agentruns.yaml")}
	for _, crd := range []map[string]any{taskCRD(), plainCRD(), strictCRD()} {
		raw, err := json.Marshal(crd)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, crd["metadata"].(map[string]any)["name"].(string)+".json")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// taskCRD is a CRD that a project writes without controller-gen, with the rules
// of the package. Its status has the default that tells kstatus that a new
// object is not yet reconciled.
func taskCRD() map[string]any {
	date := object{"type": "string", "format": "date-time"}
	condition := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return crd(tasks, "Task", object{
		"type":    "object",
		"default": object{"observedGeneration": -1},
		"properties": object{
			"observedGeneration": object{"type": "integer", "format": "int64"},
			"updatedAt":          date, "startTime": date, "completionTime": date,
			"phase":      object{"type": "string"},
			"cursor":     object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"conditions": object{"type": "array", "items": condition},
		},
	}, object{"status": object{}}, status.Rules(taskNames))
}

// plainCRD has no status subresource.
func plainCRD() map[string]any {
	return crd(plains, "Plain", object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, nil, nil)
}

// strictCRD requires fields and defaults one.
func strictCRD() map[string]any {
	date := object{"type": "string", "format": "date-time"}
	return crd(stricts, "Strict", object{
		"type":     "object",
		"required": []any{"active", "nodes", "totals"},
		"properties": object{
			"observedGeneration": object{"type": "integer", "format": "int64"},
			"updatedAt":          date, "startedAt": date, "finishedAt": date,
			"active": object{"type": "integer"},
			"nodes":  object{"type": "array", "items": object{"type": "string"}},
			"totals": object{"type": "object", "required": []any{"Failed"}, "properties": object{"Failed": object{"type": "integer"}}},
			"mode":   object{"type": "string", "default": "Auto"},
			"extra":  object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		},
	}, object{"status": object{}}, nil)
}

type object = map[string]any

func crd(resource schema.GroupVersionResource, kind string, statusSchema, subresources object, rules []status.Rule) object {
	var validations []any
	for _, r := range rules {
		validations = append(validations, object{"rule": r.Rule, "message": r.Message})
	}
	root := object{"type": "object", "properties": object{
		"spec":   object{"type": "object", "properties": object{"image": object{"type": "string"}}},
		"status": statusSchema,
	}}
	if validations != nil {
		root["x-kubernetes-validations"] = validations
	}
	version := object{"name": resource.Version, "served": true, "storage": true, "schema": object{"openAPIV3Schema": root}}
	if subresources != nil {
		version["subresources"] = subresources
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": resource.GroupResource().String()},
		"spec": object{
			"group": resource.Group, "scope": "Namespaced",
			"names":    object{"plural": resource.Resource, "kind": kind},
			"versions": []any{version},
		},
	}
}
