// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// memory is what a Prometheus knows after some scrapes. Prometheus' own code
// parses the pages and evaluates the expressions. Debian's Prometheus is too
// old to convert histograms.
type memory struct {
	engine *promql.Engine
	native bool // it converts histograms: convert_classic_histograms_to_nhcb
	now    time.Time
	series map[string]*promql.Series
}

// scrape is the time between two pages.
const scrape = 30 * time.Second

// target has the labels of the scraped process.
var target = labels.FromStrings("cluster", "east", "namespace", "agents", "job", "agentrun", "instance", "10.0.0.1:8080")

func newMemory(native bool) *memory {
	return &memory{
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})}),
		native: native,
		now:    time.Unix(1e9, 0),
		series: map[string]*promql.Series{},
	}
}

// read reads a page, a scrape after the page before.
func (m *memory) read(t *testing.T, page *httptest.ResponseRecorder) {
	t.Helper()
	m.now = m.now.Add(scrape)
	lines, err := textparse.New(page.Body.Bytes(), page.Header().Get("Content-Type"), nil,
		textparse.ParserOptions{ConvertClassicHistogramsToNHCB: m.native})
	require.NoError(t, err)
	for {
		entry, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if entry != textparse.EntrySeries && entry != textparse.EntryHistogram {
			continue
		}
		var of labels.Labels
		lines.Labels(&of)
		if entry == textparse.EntrySeries {
			_, _, value := lines.Series()
			m.number(of, value)
			continue
		}
		_, _, h, f := lines.Histogram()
		if h != nil {
			f = h.ToFloat(nil)
		}
		s := m.of(of)
		s.Histograms = append(s.Histograms, promql.HPoint{T: m.now.UnixMilli(), H: f.Copy()}) // the parser uses f again
	}
	m.number(labels.FromStrings("__name__", "up"), 1)
}

// number remembers a number of the scrape.
func (m *memory) number(of labels.Labels, value float64) {
	s := m.of(of)
	s.Floats = append(s.Floats, promql.FPoint{T: m.now.UnixMilli(), F: value})
}

// of returns the series with these labels and those of the target.
func (m *memory) of(of labels.Labels) *promql.Series {
	all := labels.NewBuilder(of)
	target.Range(func(l labels.Label) { all.Set(l.Name, l.Value) })
	id := all.Labels().String()
	if m.series[id] == nil {
		m.series[id] = &promql.Series{Metric: all.Labels()}
	}
	return m.series[id]
}

// query evaluates an expression now. The values are by labels. A warning is an
// error.
func (m *memory) query(ctx context.Context, expr string) (map[string]float64, error) {
	q, err := m.engine.NewInstantQuery(ctx, m, nil, expr, m.now)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	answer := q.Exec(ctx)
	samples, err := answer.Vector()
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, s := range samples {
		if s.H != nil {
			return nil, errors.New("the value is a histogram: " + s.Metric.String())
		}
		values[s.Metric.String()] = s.F
	}
	return values, errors.Join(answer.Warnings.AsErrors()...)
}

// Querier is for the engine.
func (m *memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var found selected
		for _, s := range m.series {
			if labels.Selector(matchers).Matches(s.Metric) {
				found.all = append(found.all, promql.NewStorageSeries(*s))
			}
		}
		return &found
	}}, nil
}

// selected are the series that an expression selects.
type selected struct {
	all  []storage.Series
	next int
}

func (s *selected) Next() bool {
	s.next++
	return s.next <= len(s.all)
}

func (s *selected) At() storage.Series                { return s.all[s.next-1] }
func (s *selected) Err() error                        { return nil }
func (s *selected) Warnings() annotations.Annotations { return nil }
