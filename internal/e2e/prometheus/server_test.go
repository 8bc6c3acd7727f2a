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

// server is a Prometheus that this test hands its scrapes. Prometheus' own code
// parses the pages and evaluates the expressions.
type server struct {
	engine  *promql.Engine
	options textparse.ParserOptions
	series  map[string]*promql.Series
}

func newServer(o textparse.ParserOptions) *server {
	return &server{
		engine:  promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})}),
		options: o,
		series:  map[string]*promql.Series{},
	}
}

// read stores a page.
func (s *server) read(t *testing.T, page *httptest.ResponseRecorder, at time.Time) {
	t.Helper()
	lines, err := textparse.New(page.Body.Bytes(), page.Header().Get("Content-Type"), nil, s.options)
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
		series := s.of(of)
		if entry == textparse.EntrySeries {
			_, _, value := lines.Series()
			series.Floats = append(series.Floats, promql.FPoint{T: at.UnixMilli(), F: value})
			continue
		}
		_, _, h, f := lines.Histogram()
		if h != nil {
			f = h.ToFloat(nil)
		}
		series.Histograms = append(series.Histograms, promql.HPoint{T: at.UnixMilli(), H: f.Copy()}) // the parser uses f again
	}
	up := s.of(labels.FromStrings("__name__", "up"))
	up.Floats = append(up.Floats, promql.FPoint{T: at.UnixMilli(), F: 1})
}

// of returns the series with these labels and the labels of the target.
func (s *server) of(of labels.Labels) *promql.Series {
	all := labels.NewBuilder(of).Set("cluster", "east").Set("namespace", "agents").Set("job", "agentrun").Set("instance", "10.0.0.1:8080")
	id := all.Labels().String()
	if s.series[id] == nil {
		s.series[id] = &promql.Series{Metric: all.Labels()}
	}
	return s.series[id]
}

// Querier is for the engine.
func (s *server) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := new(selected)
		for _, series := range s.series {
			if labels.Selector(matchers).Matches(series.Metric) {
				found.all = append(found.all, promql.NewStorageSeries(*series))
			}
		}
		return found
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

// query evaluates an expression. The values are by labels. A warning is an
// error.
func (s *server) query(ctx context.Context, expr string, at time.Time) (map[string]float64, error) {
	q, err := s.engine.NewInstantQuery(ctx, s, nil, expr, at)
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
