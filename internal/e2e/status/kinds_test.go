// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// foreign is a kind with a status like in another project: with fields,
// conditions and a schema that are older than the contract.
type foreign struct {
	like     string // whose status it is like
	fields   object // properties of the status
	required []any
	whole    object // replaces the schema of the status; nil for none
	names    status.FieldNames

	field  string // that a reconcile changes, to each of values
	values [3]any
	also   object // fields that a reconcile sets, too

	defaulted string // a field that the schema has a default for
	nullable  string // a required field that may be null
	zero      object // required fields that are zero
}

// resource names the kind after its place in the list.
func (f foreign) resource(kind string) schema.GroupVersionResource {
	return v1alpha1.GroupVersion().WithResource(kind + "s")
}

func (f foreign) crd(kind string) object {
	schema := object{"type": "object", "properties": f.fields}
	if f.required != nil {
		schema["required"] = f.required
	}
	if f.whole != nil {
		schema = f.whole
	}
	return crd(f.resource(kind), strings.ToUpper(kind[:1])+kind[1:], schema, object{"status": object{}}, nil)
}

// keepsAll reports whether the schema prunes nothing.
func (f foreign) keepsAll() bool { return f.whole != nil }

// hasReady reports whether the schema keeps the condition that setReady sets.
func (f foreign) hasReady() bool {
	list, _ := f.fields["conditions"].(object)
	if list == nil {
		return f.names.Conditions != "-"
	}
	_, has := list["items"].(object)["properties"].(object)["reason"]
	return has
}

var (
	text     = object{"type": "string"}
	number   = object{"type": "integer"}
	long     = object{"type": "integer", "format": "int64"}
	date     = object{"type": "string", "format": "date-time"}
	anything = object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
)

func nullable(schema object) object { return with(schema, object{"nullable": true}) }

func with(schema, more object) object {
	schema = maps.Clone(schema)
	maps.Copy(schema, more)
	return schema
}

// conditions is a list of conditions with these texts and dates.
func conditions(required []any, fields ...string) object {
	properties := object{"type": text, "status": text}
	for _, name := range fields {
		properties[name] = text
		switch {
		case name == "observedGeneration":
			properties[name] = long
		case slices.Contains([]string{"lastTransitionTime", "lastUpdateTime", "lastProbeTime", "lastHeartbeatTime"}, name):
			properties[name] = date
		}
	}
	items := object{"type": "object", "properties": properties, "required": append([]any{"type", "status"}, required...)}
	return object{"type": "array", "items": items}
}

// byType makes conditions a map by type.
func byType(list object) object {
	return with(list, object{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"}})
}

// metaConditions is a list of metav1.Condition.
func metaConditions() object {
	all := []string{"lastTransitionTime", "reason", "message", "observedGeneration"}
	return byType(conditions([]any{"lastTransitionTime", "reason", "message"}, all...))
}

// numbered are three values of a text.
var numbered = [3]any{"one", "two", "three"}

// foreigns are the kinds by their names.
func foreigns() map[string]foreign {
	const none = "-"
	noTimes := status.FieldNames{UpdatedAt: none, StartedAt: none, FinishedAt: none}
	timesOf := func(start, end string) status.FieldNames {
		return status.FieldNames{UpdatedAt: none, StartedAt: start, FinishedAt: end}
	}
	return map[string]foreign{
		"batch": {
			like: "Jobs", names: status.FieldNames{ObservedGeneration: none, UpdatedAt: none, StartedAt: "startTime", FinishedAt: "completionTime"},
			field: "active", values: [3]any{int64(1), int64(2), int64(3)},
			fields: object{
				"active": number, "startTime": date, "completionTime": date,
				"conditions": conditions(nil, "lastProbeTime", "lastTransitionTime", "reason", "message"),
			},
		},
		"workflow": {
			like: "Argo Workflows", field: "phase", values: numbered,
			names: status.FieldNames{ObservedGeneration: none, UpdatedAt: none},
			fields: object{
				"phase": text, "startedAt": nullable(date), "finishedAt": nullable(date),
				"nodes": anything, "conditions": conditions(nil, "message"),
			},
		},
		"taskrun": {
			like: "Tekton's TaskRuns", names: timesOf("startTime", "completionTime"), field: "podName", values: numbered,
			whole: anything,
		},
		"scaler": {
			like: "KEDA's ScaledObjects", field: "scaleTargetKind", values: numbered,
			names: status.FieldNames{ObservedGeneration: none, UpdatedAt: none, StartedAt: none, FinishedAt: none},
			fields: object{
				"scaleTargetKind": text, "lastActiveTime": date, "conditions": conditions(nil, "reason", "message"),
			},
		},
		"secretcopy": {
			like: "ExternalSecrets", field: "syncedResourceVersion", values: numbered,
			names: status.FieldNames{ObservedGeneration: none, UpdatedAt: none, StartedAt: none, FinishedAt: none},
			fields: object{
				"syncedResourceVersion": text, "refreshTime": nullable(date),
				"binding":    object{"type": "object", "default": object{"name": ""}, "properties": object{"name": object{"type": "string", "default": ""}}},
				"conditions": conditions(nil, "lastTransitionTime", "reason", "message"),
			},
			defaulted: "binding",
		},
		"archive": {
			like: "Velero's Backups", field: "phase", values: [3]any{"New", "InProgress", "Completed"},
			names: status.FieldNames{
				ObservedGeneration: none, UpdatedAt: none, StartedAt: "startTimestamp", FinishedAt: "completionTimestamp", Conditions: none,
			},
			fields: object{
				"phase": with(text, object{"enum": []any{"New", "InProgress", "Completed"}}), "startTimestamp": nullable(date),
				"completionTimestamp": nullable(date), "expiration": nullable(date), "errors": number,
				"progress": nullable(object{"type": "object", "properties": object{"itemsBackedUp": number}}),
			},
		},
		"monitor": {
			like: "the Prometheus operator", names: noTimes, field: "replicas", values: [3]any{int64(1), int64(2), int64(3)},
			required: []any{"replicas", "availableReplicas", "paused"},
			fields: object{
				"observedGeneration": long, "replicas": number, "availableReplicas": number, "paused": object{"type": "boolean"},
				"conditions": byType(conditions([]any{"lastTransitionTime"}, "lastTransitionTime", "reason", "message", "observedGeneration")),
			},
			also: object{"availableReplicas": int64(1), "paused": true}, zero: object{"availableReplicas": int64(0), "paused": false},
		},
		"quota": {
			like: "Kueue's Workloads", names: noTimes, field: "requeues", values: [3]any{int64(1), int64(2), int64(3)},
			fields: object{
				"observedGeneration": long, "requeues": number, "conditions": with(metaConditions(), object{"maxItems": 16}),
			},
		},
		"gateway": {
			like: "the Gateway API", names: noTimes, field: "addresses",
			values: [3]any{[]any{object{"value": "1"}}, []any{object{"value": "2"}}, []any{object{"value": "3"}}},
			fields: object{
				"observedGeneration": long,
				"addresses": object{"type": "array", "items": object{
					"type": "object", "properties": object{"type": object{"type": "string", "default": "IPAddress"}, "value": text},
				}},
				"conditions": with(metaConditions(), object{"maxItems": 8, "default": []any{object{
					"type": "Accepted", "status": "Unknown", "reason": "Pending", "message": "Waiting for controller",
					"lastTransitionTime": "1970-01-01T00:00:00Z",
				}}}),
			},
		},
		"mesh": {
			like: "Istio", names: noTimes, field: "validation", values: numbered,
			whole: with(anything, object{"properties": object{"observedGeneration": object{"x-kubernetes-int-or-string": true, "anyOf": []any{number, text}}}}),
		},
		"rayjob": {
			like: "RayJobs", names: status.FieldNames{UpdatedAt: none, StartedAt: "startTime", FinishedAt: "endTime", Conditions: none},
			field: "jobStatus", values: numbered,
			fields: object{
				"observedGeneration": long, "jobStatus": text, "startTime": date, "endTime": date,
				"failed": with(number, object{"default": 0}), "succeeded": with(number, object{"default": 0}),
			},
			defaulted: "failed",
		},
		"clusteroperator": {
			like: "OpenShift's ClusterOperators", field: "versions", required: []any{"extension"}, nullable: "extension",
			names:  status.FieldNames{ObservedGeneration: none, UpdatedAt: none, StartedAt: none, FinishedAt: none},
			values: [3]any{[]any{"1"}, []any{"2"}, []any{"3"}},
			fields: object{
				"versions": object{"type": "array", "items": text}, "extension": nullable(anything),
				"conditions": conditions([]any{"lastTransitionTime"}, "lastTransitionTime", "reason", "message"),
			},
			also: object{"extension": object{"name": "x"}},
		},
	}
}
