// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// counts has a counter for each value of a label with a closed list.
type counts struct{ values []count }

// count is the counter of one value.
type count struct {
	name    string
	rare    bool // it is exported from the first occurrence on, not from zero
	n       atomic.Int64
	options []metric.ObserveOption
}

// newCounts makes a counter for each value. The counters of rare values are
// exported from their first occurrence on. kv are the other attributes.
func newCounts(label string, values, rare []string, kv ...attribute.KeyValue) *counts {
	c := &counts{values: make([]count, len(values))}
	for i, name := range values {
		c.values[i].name = name
		c.values[i].rare = slices.Contains(rare, name)
		c.values[i].options = observed(append(kv, attribute.String(label, name))...)
	}
	return c
}

// newWords counts words. Any word that is not known counts as "other".
func newWords(label string, known []string, kv ...attribute.KeyValue) *counts {
	return newCounts(label, append(slices.Clone(known), other), []string{other}, kv...)
}

// newResults counts results, each at its index.
func newResults(id attribute.KeyValue, rare ...Result) *counts {
	var all, seldom []string
	for r := range Result(resultCount) {
		all = append(all, r.String())
	}
	for _, r := range rare {
		seldom = append(seldom, r.String())
	}
	return newCounts("result", all, seldom, id)
}

// add counts a word.
func (c *counts) add(word string, n int64) {
	for i := range c.values {
		if c.values[i].name == word {
			c.values[i].n.Add(n)
			return
		}
	}
	c.values[len(c.values)-1].n.Add(n)
}

// addResult counts a result.
func (c *counts) addResult(r Result) { c.values[r.index()].n.Add(1) }

// observe exports the counters. Nil counts export nothing.
func (c *counts) observe(o metric.Observer, counter metric.Int64ObservableCounter) {
	if c == nil {
		return
	}
	for i := range c.values {
		v := &c.values[i]
		n := v.n.Load()
		if n > 0 || !v.rare {
			o.ObserveInt64(counter, n, v.options...)
		}
	}
}
