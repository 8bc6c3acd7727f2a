// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// explainNulls returns err, which refuses a patch that makes the status d. If
// the schema requires a field that is null in d, the error names it and the
// remedy: a merge patch has null for a field that is gone.
func (d *document) explainNulls(err error) error {
	var answer apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return err
	}
	nulls := d.nulls()
	var required []string
	for _, cause := range answer.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldValueRequired && nulls[cause.Field] {
			required = append(required, cause.Field)
		}
	}
	if required == nil {
		return err
	}
	slices.Sort(required)
	return fmt.Errorf("%s: null cannot be written by a merge patch; "+
		"set a value, or if the schema accepts null use Status().Update or a JSON Patch: %w",
		strings.Join(required, ", "), err)
}

// nulls are the paths of the fields that are null, as the API server writes
// them: status.steps[1].exit.
func (d *document) nulls() map[string]bool {
	var status any
	_ = json.Unmarshal(encode(d.value()), &status) // decode has encoded the same before
	paths := map[string]bool{}
	addNulls(paths, "status", status)
	return paths
}

func addNulls(paths map[string]bool, path string, v any) {
	switch v := v.(type) {
	case nil:
		paths[path] = true
	case map[string]any:
		for name, field := range v {
			addNulls(paths, path+"."+name, field)
		}
	case []any:
		for i, item := range v {
			addNulls(paths, fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
}
