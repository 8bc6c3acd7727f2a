// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

func TestAllListsEveryField(t *testing.T) {
	table := catalog.Instruments()
	all := table.All()
	fields := reflect.ValueOf(table)
	assert.Len(t, all, fields.NumField())
	for i := range fields.NumField() {
		assert.Equal(t, fields.Field(i).Interface(), all[i], fields.Type().Field(i).Name)
	}
}

// The rules of OpenTelemetry's semantic conventions for names, and the
// package's rules.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range catalog.Instruments().All() {
		t.Run(i.Name, func(t *testing.T) {
			assert.False(t, seen[i.PrometheusName()], "a name is used once")
			seen[i.PrometheusName()] = true
			assert.True(t, strings.HasPrefix(i.Name, "controller."), "one namespace")
			assert.Regexp(t, `^[a-z]+([._][a-z]+)*$`, i.Name)
			assert.NotRegexp(t, `(total|count|seconds)$`, i.Name, "the exporter adds them")
			assert.Regexp(t, `^(s|\{[a-z]+\}|)$`, i.Unit, "PrometheusName knows these; \"1\" would become _ratio")
			assert.Regexp(t, `\.$`, i.Description)
			assert.Equal(t, i.Kind == catalog.Histogram, len(i.Buckets) > 0)
			assert.True(t, slices.IsSorted(i.Buckets))
			for _, reserved := range []string{"namespace", "pod", "job", "instance", "service", "endpoint", "container", "le"} {
				assert.NotContains(t, i.Attributes, reserved, "a label of the target")
			}
		})
	}
}

func TestKind(t *testing.T) {
	for kind, want := range map[catalog.Kind]string{
		catalog.Counter: "counter", catalog.UpDownCounter: "updowncounter", catalog.Gauge: "gauge", catalog.Histogram: "histogram",
		catalog.Kind(99): "unknown",
	} {
		assert.Equal(t, want, kind.String())
	}
}

func TestInstrumentsIsACopy(t *testing.T) {
	first := catalog.Instruments()
	first.RunDuration.Buckets[0] = 99
	first.Reconciles.Attributes[0] = "changed"
	assert.NotEqual(t, first, catalog.Instruments())
	assert.NotEqual(t, first.Reconciles, catalog.Instruments().Reconciles)
}
