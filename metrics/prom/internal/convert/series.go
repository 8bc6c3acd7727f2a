// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
)

// pairs are the labels of attributes. Attributes whose names become one label
// share it: their values are sorted and joined.
func (c *Collector) pairs(attrs attribute.Set) (labels, values []string, err error) {
	all := map[string][]string{}
	for _, kv := range attrs.ToSlice() {
		label, err := c.labelNamer.Build(string(kv.Key))
		if err != nil {
			return nil, nil, err
		}
		if _, ok := all[label]; !ok {
			labels = append(labels, label)
		}
		all[label] = append(all[label], kv.Value.Emit())
	}
	for _, label := range labels {
		slices.Sort(all[label])
		values = append(values, strings.Join(all[label], ";"))
	}
	return labels, values, nil
}

// seriesOf returns the series of attributes, or nil after it noted the reason.
func (c *Collector) seriesOf(p *Page, i *instrument, attrs attribute.Set) *series {
	if i.turn != c.turn {
		i.turn = c.turn
		i.points = 0
	}
	i.points++
	s, ok := i.series[attrs.Equivalent()]
	if !ok {
		s = c.newSeries(i, attrs)
		i.series[attrs.Equivalent()] = s
	}
	s.turn = c.turn
	switch {
	case s.err != nil:
		p.Errs = append(p.Errs, s.err)
		return nil
	case s.place.turn == c.turn:
		p.Errs = append(p.Errs, fmt.Errorf("metrics/prom: a series of %s is there twice: %v",
			i.family.name, s.labels))
		return nil
	}
	s.place.turn = c.turn
	return s
}

func (c *Collector) newSeries(i *instrument, attrs attribute.Set) *series {
	labels, values, err := c.pairs(attrs)
	s := &series{
		desc:   prometheus.NewDesc(i.family.name, i.family.help, labels, nil),
		values: values,
	}
	if err == nil {
		s.labels, err = labelPairs(s.desc, values)
	}
	if err == nil && i.family.kind == isHistogram && slices.Contains(labels, bucketLabel) {
		err = errBucketLabel
	}
	if err != nil {
		s.err = fmt.Errorf("metrics/prom: a series of %s: %w", i.family.name, err)
		return s
	}
	var key strings.Builder
	for _, l := range s.labels {
		key.WriteString(l.GetName() + "\xff" + l.GetValue() + "\xff")
	}
	s.place = i.family.places[key.String()]
	if s.place == nil {
		s.place = &place{labels: key.String()}
		i.family.places[s.place.labels] = s.place
	}
	return s
}

// forget drops the series that this collection did not have, so that
// short-lived series do not pile up. It keeps about as many of them as there
// are current series.
func (c *Collector) forget(i *instrument) {
	points := i.points
	if i.turn != c.turn {
		points = 0 // the instrument has stopped
	}
	if len(i.series) <= 2*points+16 {
		return
	}
	for id, s := range i.series {
		if s.turn == c.turn {
			continue
		}
		delete(i.series, id)
		if s.place != nil && s.place.turn != c.turn { // no other series took it
			delete(i.family.places, s.place.labels)
		}
	}
}

// bucketLabel is the label of a histogram's bucket. With an attribute of this
// name, Prometheus refuses the whole page: the label is there twice.
const bucketLabel = "le"

var errBucketLabel = errors.New(`the attribute "le" is not accepted; ` +
	"want another name, because le is the label of a bucket")

// labelPairs are the sorted labels of a series. Making them also finds values
// that Prometheus does not accept.
func labelPairs(desc *prometheus.Desc, values []string) ([]*dto.LabelPair, error) {
	m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, 0, values...)
	if err != nil {
		return nil, err
	}
	var out dto.Metric
	err = m.Write(&out)
	return out.GetLabel(), err
}
