// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status/statustest"
)

//req:shows S5
func TestRun_PassesForATypedKind(t *testing.T) {
	k := resource[build, *build]{newServer()}.kind()
	k.Set = func(o *build, n int) {
		verdict := "known"
		o.Status.Phase = strconv.Itoa(n)
		o.Status.Mode = "Manual"
		o.Status.Verdict = &verdict
		o.Status.Total = 1
	}
	k.Pruned = func(o *build) { o.Status.Typo = "x" }
	k.Defaulted = func(o *build) { o.Status.Mode = "" }
	k.Nullable = func(o *build) { o.Status.Verdict = nil }
	k.Required = func(o *build) { o.Status.Total = 0 }
	k.Refused = func(o *build) { o.Status.Phase = "0123456789" }
	statustest.Run(t, k)
}

func TestRun_PassesForAnUnstructuredKind(t *testing.T) {
	statustest.Run(t, looseKind(newServer()))
}

// looseKind is the kind of unstructured Builds.
func looseKind(s *server) statustest.Kind[*unstructured.Unstructured] {
	k := resource[unstructured.Unstructured, *unstructured.Unstructured]{s}.kind()
	set := func(o *unstructured.Unstructured, name string, value any) {
		fields, _ := o.Object["status"].(map[string]any)
		if fields == nil {
			fields = map[string]any{}
			o.Object["status"] = fields
		}
		fields[name] = value
	}
	k.Set = func(o *unstructured.Unstructured, n int) {
		set(o, "phase", strconv.Itoa(n))
		set(o, "mode", "Manual")
		set(o, "verdict", "known")
		set(o, "total", int64(1))
	}
	k.Pruned = func(o *unstructured.Unstructured) { set(o, "typo", "x") }
	k.Defaulted = func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "status", "mode") }
	k.Nullable = func(o *unstructured.Unstructured) { set(o, "verdict", nil) }
	k.Required = func(o *unstructured.Unstructured) { set(o, "total", int64(0)) }
	k.Refused = func(o *unstructured.Unstructured) { set(o, "phase", "0123456789") }
	return k
}
