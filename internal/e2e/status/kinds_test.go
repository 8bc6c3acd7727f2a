// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/rules"
)

type object = map[string]any

// The resources that tests name. AgentRuns are typed, with a CRD that
// controller-gen made. The others are kinds of testdata/kinds.yaml, used
// through the dynamic client.
var (
	runs   = v1alpha1.GroupVersion().WithResource("agentruns")
	tasks  = resourceOf("task")
	quotas = resourceOf("quota") // its conditions are a map by type
)

// example is the folder of the example that has AgentRuns.
var example = filepath.Join("..", "..", "..", "examples", "agentrun")

// taskNames are the field names of a kind that is older than the contract.
var taskNames = status.FieldNames{StartedAt: "startTime", FinishedAt: "completionTime"}

// kind is a kind with its own fields, conditions and schema of the status.
type kind struct {
	Status   object            `json:"status"`   // its schema, if this suite makes its CRD
	Rules    bool              `json:"rules"`    // those of the package
	KeepsAll bool              `json:"keepsAll"` // the schema prunes nothing
	Ready    bool              `json:"ready"`    // it keeps the condition that setReady sets
	Names    status.FieldNames `json:"names"`

	Field  string `json:"field"`  // that a reconcile changes, to each of three values
	Values []any  `json:"values"` // empty for a kind without contract
	Also   object `json:"also"`   // fields that a reconcile sets, too

	Zero object `json:"zero"` // required fields that are zero
}

//go:embed testdata/kinds.yaml
var kindsFile []byte

// kinds returns the kinds of the file by their names.
func kinds() (all map[string]kind, err error) {
	raw, err := yaml.YAMLToJSONStrict(kindsFile)
	if err != nil {
		return nil, err
	}
	return all, utiljson.Unmarshal(raw, &all) // a whole number is an int64
}

// resourceOf names the resource of a kind of the file.
func resourceOf(name string) schema.GroupVersionResource {
	return v1alpha1.GroupVersion().WithResource(name + "s")
}

// writeCRDs writes the CRDs of all kinds into dir and returns their paths.
func writeCRDs(dir string) ([]string, error) {
	all, err := kinds()
	if err != nil {
		return nil, err
	}
	var items []any
	for name, k := range all {
		if k.Status != nil {
			items = append(items, k.crd(name))
		}
	}
	raw, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "metadata": object{"name": "kinds"}, "items": items})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "kinds.json")
	agentRuns := filepath.Join(example, "crd", "agents.controllerkit.dev_agentruns.yaml")
	return []string{agentRuns, path}, os.WriteFile(path, raw, 0o600)
}

func (k kind) crd(name string) object {
	root := object{"type": "object", "properties": object{
		"spec":   object{"type": "object", "properties": object{"image": object{"type": "string"}}},
		"status": k.Status,
	}}
	if k.Rules {
		var validations []any
		for _, r := range rules.For(k.Names) {
			validations = append(validations, object{"rule": r.Rule, "message": r.Message})
		}
		root["x-kubernetes-validations"] = validations
	}
	resource := resourceOf(name)
	version := object{
		"name": resource.Version, "served": true, "storage": true,
		"schema": object{"openAPIV3Schema": root}, "subresources": object{"status": object{}},
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": resource.GroupResource().String()},
		"spec": object{
			"group": resource.Group, "scope": "Namespaced", "versions": []any{version},
			"names": object{"plural": resource.Resource, "kind": strings.ToUpper(name[:1]) + name[1:]},
		},
	}
}
