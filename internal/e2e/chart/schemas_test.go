// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// sourceOf returns the folder of a module's source, after downloading it if
// need be.
func sourceOf(module string) (string, error) {
	for _, args := range [][]string{{"mod", "download", module}, {"list", "-m", "-f", "{{.Dir}}", module}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = sources[module], append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go %s %s: %w\n%s", args[0], module, err, out)
		}
		if args[0] == "list" {
			return strings.TrimSpace(string(out)), nil
		}
	}
	return "", nil
}

// crdFiles are the CustomResourceDefinitions of what the chart renders for
// others.
func crdFiles() ([]string, error) {
	rollouts, err := sourceOf("github.com/argoproj/argo-rollouts")
	if err != nil {
		return nil, err
	}
	operator, err := sourceOf("github.com/prometheus-operator/prometheus-operator")
	if err != nil {
		return nil, err
	}
	operator = filepath.Join(operator, "example", "prometheus-operator-crd")
	return []string{
		filepath.Join(rollouts, "manifests", "crds", "rollout-crd.yaml"),
		filepath.Join(operator, "monitoring.coreos.com_servicemonitors.yaml"),
		filepath.Join(operator, "monitoring.coreos.com_prometheusrules.yaml"),
	}, nil
}

// fromOpenAPI writes a schema for each kind of one group version of Kubernetes.
func fromOpenAPI(path, dir string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var api struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal(data, &api); err != nil {
		return err
	}
	for _, schema := range api.Components.Schemas {
		closeSchema(schema)
	}
	for name, schema := range api.Components.Schemas {
		of, _ := schema["x-kubernetes-group-version-kind"].([]any)
		if len(of) != 1 {
			continue // not a kind, or a kind of every group, such as DeleteOptions
		}
		gvk, _ := of[0].(map[string]any)
		whole := map[string]any{"$ref": "#/components/schemas/" + name, "components": map[string]any{"schemas": api.Components.Schemas}}
		if err := writeSchema(dir, fmt.Sprint(gvk["group"]), fmt.Sprint(gvk["version"]), fmt.Sprint(gvk["kind"]), whole); err != nil {
			return err
		}
	}
	return nil
}

// fromCRD writes a schema for each version of a CustomResourceDefinition.
func fromCRD(path, dir string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return err
	}
	for _, v := range crd.Spec.Versions {
		closeSchema(v.Schema.OpenAPIV3Schema)
		if err := writeSchema(dir, crd.Spec.Group, v.Name, crd.Spec.Names.Kind, v.Schema.OpenAPIV3Schema); err != nil {
			return err
		}
	}
	return nil
}

// writeSchema uses the names that newConformance looks for: kubeconform takes
// the version of the core group for its name.
func writeSchema(dir, group, version, kind string, schema map[string]any) error {
	if group == "" {
		group = version
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s_%s_%s.json", group, version, strings.ToLower(kind))), data, 0o600)
}

// closeSchema refuses what a schema does not name, as a strict API server does.
func closeSchema(schema map[string]any) {
	if properties, ok := schema["properties"].(map[string]any); ok {
		if _, open := schema["additionalProperties"]; !open && schema["x-kubernetes-preserve-unknown-fields"] != true {
			schema["additionalProperties"] = false
		}
		for _, p := range properties {
			closeAny(p)
		}
	}
	closeAny(schema["items"])
	closeAny(schema["additionalProperties"])
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for _, s := range list {
			closeAny(s)
		}
	}
}

func closeAny(schema any) {
	if s, ok := schema.(map[string]any); ok {
		closeSchema(s)
	}
}
