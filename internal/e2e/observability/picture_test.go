// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/proompteng/controllerkit/internal/e2e/promtest"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// panel is a panel of Grafana's dashboard with the fields that are used here,
// and its answers.
type panel struct {
	Type, Title, Description string
	Targets                  []struct{ Expr, LegendFormat string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	GridPos                  struct{ W int } // of 24 columns

	Series []series      `json:"-"`
	Chart  template.HTML `json:"-"`
}

type series struct {
	Name, Last string
	Color      template.CSS
	points     plotter.XYs
}

// draw sends each panel's queries to Prometheus, each of which must have an
// answer, and returns the dashboard as a page that loads nothing from the
// network.
func draw(t *testing.T, prometheus *promtest.Server, dashboard []byte, over promv1.Range) []byte {
	t.Helper()
	var all struct {
		Title  string
		From   string
		Panels []*panel
	}
	require.NoError(t, json.Unmarshal(dashboard, &all))
	all.From = over.Start.Format(time.DateTime)
	for _, p := range all.Panels {
		for _, target := range p.Targets {
			answer, _, _, err := prometheus.API.QueryRange(t.Context(), manifest.Query{Expr: target.Expr}.Instant(window), over)
			require.NoError(t, err, p.Title)
			require.NotEmpty(t, answer, "%s: %s", p.Title, target.Expr)
			for _, stream := range answer.(model.Matrix) {
				p.add(target.LegendFormat, stream)
			}
		}
		if p.Type != "row" && p.Type != "stat" {
			p.chart(t)
		}
	}
	var page bytes.Buffer
	require.NoError(t, pageTemplate.Execute(&page, all))
	return page.Bytes()
}

// add adds a series, without NaN, such as a quantile without values. Its labels
// are inserted into the legend.
func (p *panel) add(legend string, stream *model.SampleStream) {
	name := regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(legend, func(place string) string {
		return string(stream.Metric[model.LabelName(strings.Trim(place, "{}"))])
	})
	r, g, b, _ := plotutil.Color(len(p.Series)).RGBA()
	s := series{Name: strings.TrimSpace(name), Last: "–", Color: template.CSS(fmt.Sprintf("rgb(%d,%d,%d)", r>>8, g>>8, b>>8))}
	for _, v := range stream.Values {
		if y := float64(v.Value); !math.IsNaN(y) && !math.IsInf(y, 0) {
			s.points = append(s.points, plotter.XY{X: float64(v.Timestamp) / 1000, Y: y})
			s.Last = p.number(y)
		}
	}
	p.Series = append(p.Series, s)
}

// chart draws the series as an SVG.
func (p *panel) chart(t *testing.T) {
	t.Helper()
	chart := plot.New()
	chart.BackgroundColor = color.Transparent
	chart.Y.Min = 0
	chart.X.Tick.Marker = plot.TimeTicks{Format: "15:04:05"}
	chart.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		all := plot.DefaultTicks{}.Ticks(low, high)
		for i := range all {
			if all[i].Label != "" {
				all[i].Label = p.number(all[i].Value)
			}
		}
		return all
	})
	chart.Add(plotter.NewGrid())
	for i, s := range p.Series {
		if len(s.points) > 0 {
			drawn, err := plotter.NewLine(s.points)
			require.NoError(t, err)
			drawn.Color, drawn.Width = plotutil.Color(i), vg.Points(1.3)
			chart.Add(drawn)
		}
	}
	svg, err := chart.WriterTo(vg.Length(p.GridPos.W*1180/24)*vg.Points(1), vg.Points(170), "svg")
	require.NoError(t, err)
	var b strings.Builder
	_, err = svg.WriteTo(&b)
	require.NoError(t, err)
	_, body, _ := strings.Cut(b.String(), "<svg")
	p.Chart = template.HTML("<svg" + body)
}

// number formats a value in one of Grafana's units.
func (p *panel) number(v float64) string {
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	unit := p.FieldConfig.Defaults.Unit
	switch {
	case unit == "percentunit":
		return short(100*v) + " %"
	case unit == "s" && v != 0 && math.Abs(v) < 1:
		return short(1000*v) + " ms"
	case unit == "s" && math.Abs(v) >= 48*3600:
		return short(v/86400) + " d"
	case unit == "s" && math.Abs(v) >= 120:
		return (time.Duration(v) * time.Second).String()
	case unit == "s":
		return short(v) + " s"
	case strings.HasSuffix(unit, "ps"):
		return short(v) + "/s"
	}
	return short(v)
}

// pageTemplate is the page, with a grid of 24 columns like Grafana's.
var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{{.Title}}</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 20px; background: #f4f5f7; color: #1f2430; }
main { display: grid; grid-template-columns: repeat(24, 1fr); gap: 10px; }
h2 { grid-column: 1 / -1; font-size: 16px; margin: 14px 0 0; }
section { background: #fff; border: 1px solid #dfe2e8; border-radius: 4px; padding: 10px 12px; min-width: 0; }
h3 { font-size: 14px; margin: 0 0 6px; }
.value { font-size: 26px; font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
ul { list-style: none; margin: 6px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12px; }
i { display: inline-block; width: 12px; height: 3px; margin-right: 5px; vertical-align: middle; }
</style>
<h1>{{.Title}}</h1>
<p>From {{.From}}; drawn from the answers of Prometheus to the dashboard's own queries.</p>
<main>
{{range .Panels}}{{if eq .Type "row"}}<h2>{{.Title}}</h2>
{{else}}<section style="grid-column: span {{.GridPos.W}}" title="{{.Description}}"><h3>{{.Title}}</h3>
{{if eq .Type "stat"}}{{range .Series}}<div class="value">{{.Last}}</div>{{end}}{{else}}{{.Chart}}
<ul>{{range .Series}}<li><i style="background: {{.Color}}"></i>{{.Name}} <b>{{.Last}}</b></li>{{end}}</ul>{{end}}</section>
{{end}}{{end}}</main>
</html>
`))
