// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// build renders dashboard and rules from a catalogue of the test's choice.
func build(table catalog.Table) error {
	target := Target{Name: "x"}.withDefaults()
	_, ofDashboard := rows(target, table)
	_, ofOldNames := oldNames(target, table)
	_, ofRules := rules(target, table)
	return errors.Join(ofDashboard, ofOldNames, ofRules)
}

// unqueried are the labels that no query uses.
func unqueried() []string {
	return []string{"RunDuration.result", "ClientRequestDuration.code"}
}

// Every instrument and every label of the catalogue is needed: without it
// nothing is rendered.
//
//req:shows O3
func TestWhatTheCatalogueLosesCannotBeRendered(t *testing.T) {
	require.NoError(t, build(catalog.Instruments()))
	fields := reflect.TypeFor[catalog.Table]()
	for n := range fields.NumField() {
		table := catalog.Instruments()
		row := reflect.ValueOf(&table).Elem().Field(n).Addr().Interface().(*catalog.Instrument)
		whole := *row
		name := fields.Field(n).Name

		*row = catalog.Instrument{Kind: whole.Kind, Attributes: whole.Attributes}
		require.ErrorContains(t, build(table), "without a name", "%s is gone", name)

		*row = whole
		row.Kind = catalog.Kind(99)
		require.ErrorContains(t, build(table), whole.Name+": a unknown", "%s has another kind", name)

		for i, label := range whole.Attributes {
			*row = whole
			row.Attributes = slices.Delete(slices.Clone(whole.Attributes), i, i+1)
			if slices.Contains(unqueried(), name+"."+label) {
				assert.NoError(t, build(table), "%s.%s is used: strike it off the list", name, label)
				continue
			}
			assert.ErrorContains(t, build(table), `"`+label+`"`, "%s has lost %s", name, label)
		}
	}
}

func TestQueriesThatMeanNothing(t *testing.T) {
	i := catalog.Instruments()
	for name, tc := range map[string]struct {
		build  func(q *queries)
		want   string
		reason string
	}{
		"rate of a gauge":        {func(q *queries) { q.rate(i.QueueOldest, "5m", nil) }, "controller.queue.oldest: a gauge", "an age does not count"},
		"sum of a counter":       {func(q *queries) { q.sum(i.Runs, nil) }, "controller.runs: a counter", "only grows"},
		"quantile of a counter":  {func(q *queries) { q.quantile(.5, i.Runs, "5m", nil) }, "controller.runs: a counter", "no buckets"},
		"increase of a gauge":    {func(q *queries) { q.increase(i.Leader, period{"5m", "300"}, "1h", nil) }, "controller.leader: a gauge", "no counter"},
		"total of a gauge":       {func(q *queries) { q.total(i.Leader, nil) }, "controller.leader: a gauge", "no counter"},
		"those with a gauge":     {func(q *queries) { q.upOf(i.Leader) }, "controller.leader: a gauge", "there from the start is a counter"},
		"highest of a histogram": {func(q *queries) { q.highest(i.QueueWait, nil) }, "controller.queue.wait.duration: a histogram", "no state"},
		"unknown grouping":       {func(q *queries) { q.sum(i.QueueDepth, []string{"result"}) }, `grouped by "result"`, "it has no result"},
		"unknown matcher":        {func(q *queries) { q.sum(i.QueueDepth, nil, where{"result", []string{"x"}}) }, `selected by "result"`, "it has no result"},
		"a matcher of the target": {func(q *queries) {
			q.sum(i.QueueDepth, nil, where{"job", []string{"x"}})
		}, `selected by "job"`, "all queries share one selector of the target"},
		"shares of other wholes": {func(q *queries) {
			q.ratio(q.rate(i.Runs, "5m", []string{"result"}), q.rate(i.Runs, "5m", nil))
		}, "a ratio of", "they do not match one another"},
		"shares of other units": {func(q *queries) {
			q.ratio(q.rate(i.Runs, "5m", nil), q.sum(i.RunActive, nil))
		}, "a ratio of", "a rate and a state have no ratio"},
	} {
		t.Run(name, func(t *testing.T) {
			q := onDashboard(Target{}.withDefaults(), i)
			require.NoError(t, q.err())
			tc.build(q)
			assert.ErrorContains(t, q.err(), tc.want, tc.reason)
		})
	}
}

func TestMatchersAreQuoted(t *testing.T) {
	assert.Equal(t, `a="b\"c"`, where{"a", []string{`b"c`}}.String())
	assert.Equal(t, `a=~"b|c"`, where{"a", []string{"b", "c"}}.String())
}
