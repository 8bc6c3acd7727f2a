// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// rateInterval is Grafana's $__rate_interval for the Prometheus data source: a
// step and a scrape, and at least four scrapes. A scrape is the minimum step
// of the query or, without one, the scrape interval of the data source, which
// is 15 s by default. A step is a point of the graph, and at least a scrape.
func rateInterval(minStep string, shown time.Duration, points int) (time.Duration, error) {
	scrape := 15 * time.Second
	var err error
	if minStep != "" {
		scrape, err = time.ParseDuration(minStep)
	}
	step := max(scrape, shown/time.Duration(points))
	return max(step+scrape, 4*scrape), err
}

// TestPanels_HaveValuesAtEachInterval: with Grafana's default data source, each
// panel has a value at each interval that Target accepts.
//
//req:shows O3
func TestPanels_HaveValuesAtEachInterval(t *testing.T) {
	for interval, reason := range map[time.Duration]string{
		15 * time.Second: "The data source's own interval.",
		30 * time.Second: "The default of Target.",
		time.Minute:      "The default of Prometheus.",
		2 * time.Minute:  "The longest that Target accepts.",
	} {
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			p, err := manifest.New(manifest.Target{Name: "agentrun", Interval: interval})
			require.NoError(t, err)
			var dashboard struct {
				Panels []struct {
					Title   string
					Targets []struct{ Expr, Interval string }
				}
			}
			require.NoError(t, json.Unmarshal(p.Dashboard(), &dashboard))
			var asked []map[string]any
			for _, panel := range dashboard.Panels {
				for _, query := range panel.Targets {
					window, err := rateInterval(query.Interval, time.Hour, 1000)
					require.NoError(t, err)
					expr := strings.NewReplacer("$__rate_interval", window.String(), "$__range_s", "3600", "$__range", "1h").Replace(query.Expr)
					asked = append(asked, map[string]any{
						"expr":      "label_replace(sum(count(" + manifest.Query{Expr: expr}.Instant(time.Hour) + ") > bool 0), \"panel\", " + quote(panel.Title) + ", \"\", \"\")",
						"eval_time": "1h", "exp_samples": []map[string]any{{"labels": "{panel=" + quote(panel.Title) + "}", "value": 1}},
					})
				}
			}
			require.Greater(t, len(asked), 40)
			out, err := unitTest(t, []byte("groups: []"), map[string]any{
				"interval": interval.String(), "input_series": input(everything()), "promql_expr_test": asked,
			})
			assert.NoError(t, err, "%s %s", reason, out)
		})
	}
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

// everything is a series of each metric that the dashboard shows, with the
// labels that its queries select. Counters grow.
func everything() map[string]string {
	const grows, is = "0+10x300", "1x300"
	series := map[string]string{upSeries: is, started: "0x300"}
	instruments := append(catalog.Instruments().All(),
		catalog.Instrument{Name: "process.cpu", Unit: "s", Kind: catalog.Counter},
		catalog.Instrument{Name: "process.resident_memory_bytes", Kind: catalog.Gauge},
		catalog.Instrument{Name: "go.goroutines", Kind: catalog.Gauge},
	)
	for _, i := range instruments {
		for _, result := range []string{"success", "error", "dropped"} {
			labels := labelsOf(i, result)
			switch i.Kind {
			case catalog.Histogram:
				for _, bound := range []string{"0.1", "1", "+Inf"} {
					series[on(i, "_bucket", append(labels, "le", bound)...)] = grows
				}
				series[on(i, "_count", labels...)] = grows
				series[on(i, "_sum", labels...)] = grows
			case catalog.Counter:
				series[on(i, "", labels...)] = grows
			default:
				series[on(i, "", labels...)] = is
			}
		}
	}
	return series
}

// labelsOf returns the labels of an instrument, in pairs of name and value.
func labelsOf(i catalog.Instrument, result string) (labels []string) {
	for _, name := range i.Attributes {
		value := "x"
		if name == "result" {
			value = result
		}
		labels = append(labels, name, value)
	}
	return labels
}
