// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// monitoringAPI is the API of Prometheus Operator.
const monitoringAPI = "monitoring.coreos.com/v1"

// object is an object of Kubernetes.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Spec       any               `json:"spec,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// document writes one YAML document that is at the same time safe text of a Go
// template: nothing in it opens an action. In JSON two braces in a row occur
// in strings only. There a mark of two control characters takes their place,
// which YAML must write as escapes. The escapes of the braces replace them.
func document(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil // strings, numbers and structs of them can be encoded
	}
	text = bytes.ReplaceAll(text, []byte(actionOpens), []byte(`\u0001\u0002`))
	text, err = yaml.JSONToYAML(text)
	if err != nil {
		return nil // JSON is YAML
	}
	return bytes.ReplaceAll(text, []byte(`\x01\x02`), []byte(escapedOpens))
}

// The opening of an action of a Go template, and so of Helm, and its escapes in
// JSON, which YAML's double quotes accept too. A reader of the JSON or YAML
// gets the same text, and the template engine finds no action.
const (
	actionOpens  = "{{"
	escapedOpens = `\u007b\u007b`
)

// templateSafe is a JSON text in which no template opens an action.
func templateSafe(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(actionOpens), []byte(escapedOpens))
}
