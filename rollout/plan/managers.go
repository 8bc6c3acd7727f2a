// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manager returns the field manager of the apply: the manager that applies the
// live workload, because it owns the fields afterwards.
func (p *planner) manager() string {
	if p.FieldManager != "" {
		return p.FieldManager
	}
	name := applier(p.old.meta.ManagedFields)
	if name == "" {
		p.warn("The live %s has no managedFields, so the plan applies as kubectl. If another tool applies "+
			"the manifest, read it with --show-managed-fields, or set the field manager: a field that the "+
			"tool removes later would stay.", p.old.gvk.Kind)
	}
	if name == "" || strings.HasPrefix(name, "kubectl") { // a client-side apply has another name
		return "kubectl"
	}
	return name
}

// applier returns the manager of the selector, which every manifest has and a
// patch cannot change. An apply goes before an update, and a later entry before
// an earlier one.
func applier(entries []metav1.ManagedFieldsEntry) string {
	const apply = metav1.ManagedFieldsOperationApply
	var best metav1.ManagedFieldsEntry
	for _, e := range entries {
		if !ownsSelector(&e) {
			continue
		}
		later := e.Operation == best.Operation && best.Time.Before(e.Time)
		applies := e.Operation == apply && best.Operation != apply
		if best.Manager == "" || later || applies {
			best = e
		}
	}
	return best.Manager
}

func ownsSelector(e *metav1.ManagedFieldsEntry) bool {
	var fields struct {
		Spec map[string]any `json:"f:spec"`
	}
	data, _ := json.Marshal(e.FieldsV1)
	_ = json.Unmarshal(data, &fields) // fields that cannot be read own nothing
	return fields.Spec["f:selector"] != nil
}

// carryHelmRelease copies the annotations and the label by which Helm knows an
// object from the live one, unless the manifest has others. Helm refuses to
// upgrade an object without them, and its rendered manifest has none. No other
// tool needs those that it sets, and some delete an object that has them and is
// not in their source yet.
func carryHelmRelease(live, to *metav1.ObjectMeta) {
	const (
		name      = "meta.helm.sh/release-name"
		namespace = "meta.helm.sh/release-namespace"
		managedBy = "app.kubernetes.io/managed-by"
	)
	if live.Annotations[name] == "" {
		return
	}
	to.Annotations = carry(live.Annotations, to.Annotations, name)
	to.Annotations = carry(live.Annotations, to.Annotations, namespace)
	to.Labels = carry(live.Labels, to.Labels, managedBy)
}

// carry returns to with the key of live, if it does not have it.
func carry(live, to map[string]string, key string) map[string]string {
	value, isSet := live[key]
	_, has := to[key]
	if !isSet || has {
		return to
	}
	if to == nil {
		to = map[string]string{}
	}
	to[key] = value
	return to
}
