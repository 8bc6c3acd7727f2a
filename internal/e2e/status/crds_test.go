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
	"github.com/proompteng/controllerkit/status/rules"
)

// The resources of the tests. AgentRuns are typed, with a CRD that
// controller-gen made. The others are used through the dynamic client.
var (
	runs   = v1alpha1.GroupVersion().WithResource("agentruns")
	tasks  = v1alpha1.GroupVersion().WithResource("tasks")  // other names, a default, free conditions
	plains = v1alpha1.GroupVersion().WithResource("plains") // no status subresource
	voids  = v1alpha1.GroupVersion().WithResource("voids")  // required fields that may be null
)

// example is the folder of the example that has AgentRuns.
var example = filepath.Join("..", "..", "..", "examples", "agentrun")

// taskNames are the field names of a kind that is older than the contract.
var taskNames = status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime"}

// writeCRDs writes the CRDs of all kinds into dir and returns their paths.
func writeCRDs(dir string) ([]string, error) {
	paths := []string{filepath.Join(example, "crd", "agents.controllerkit.dev_agentruns.yaml")}
	var others []any
	for name, f := range foreigns() {
		others = append(others, f.crd(name))
	}
	all := object{"apiVersion": "v1", "kind": "List", "metadata": object{"name": "foreign"}, "items": others}
	for _, crd := range []map[string]any{
		taskCRD(), plainCRD(), voidCRD(), all,
	} {
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
	}, object{"status": object{}}, rules.For(taskNames))
}

// plainCRD has no status subresource.
func plainCRD() map[string]any {
	return crd(plains, "Plain", object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, nil, nil)
}

// voidCRD requires fields that may be null: in the status, in an object and in
// an element of a list.
func voidCRD() map[string]any {
	nullable := object{"type": "integer", "nullable": true}
	date := object{"type": "string", "format": "date-time"}
	return crd(voids, "Void", object{"type": "object", "required": []any{"verdict"}, "properties": object{
		"observedGeneration": object{"type": "integer", "format": "int64"},
		"updatedAt":          date, "startedAt": date, "finishedAt": date,
		"verdict": object{"type": "string", "nullable": true},
		"phase":   object{"type": "string"},
		"totals":  object{"type": "object", "required": []any{"failed"}, "properties": object{"failed": nullable, "active": nullable}},
		"steps": object{"type": "array", "items": object{
			"type": "object", "required": []any{"exit"}, "properties": object{"name": object{"type": "string"}, "exit": nullable},
		}},
		"named": object{"type": "object", "additionalProperties": object{
			"type": "object", "required": []any{"exit"}, "properties": object{"exit": nullable},
		}},
	}}, object{"status": object{}}, nil)
}

type object = map[string]any

func crd(resource schema.GroupVersionResource, kind string, statusSchema, subresources object, validations []rules.Rule) object {
	var rules []any
	for _, r := range validations {
		rules = append(rules, object{"rule": r.Rule, "message": r.Message})
	}
	root := object{"type": "object", "properties": object{
		"spec":   object{"type": "object", "properties": object{"image": object{"type": "string"}}},
		"status": statusSchema,
	}}
	if rules != nil {
		root["x-kubernetes-validations"] = rules
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
