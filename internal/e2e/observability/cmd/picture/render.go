// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/proompteng/controllerkit/metrics/manifest"
)

// panel has the fields of a panel of Grafana's dashboard that are used here.
type panel struct {
	Type, Title, Description string
	Targets                  []struct{ Expr, LegendFormat string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	GridPos                  struct{ W int }
}

// shown is a panel of the page.
type shown struct {
	Row         bool
	Title, Help string
	Columns     int // of 24
	Values      []string
	Chart       template.HTML
	Legend      []legend
}

type legend struct {
	Color template.CSS
	Name  string
	Last  string
}

// window is the range of the rates, a few scrapes.
const window = 10 * time.Second

// render sends each panel's queries to Prometheus and returns the page.
func render(ctx context.Context, prometheus promv1.API, dashboard []byte, from, to time.Time) ([]byte, error) {
	var of struct {
		Title  string
		Panels []panel
	}
	if err := json.Unmarshal(dashboard, &of); err != nil {
		return nil, err
	}
	var all []shown
	for _, p := range of.Panels {
		s, err := show(ctx, prometheus, p, from, to)
		if err != nil {
			return nil, fmt.Errorf("panel %s: %w", p.Title, err)
		}
		all = append(all, s)
	}
	var page bytes.Buffer
	err := pageTemplate.Execute(&page, map[string]any{"Title": of.Title, "From": from.Format(time.DateTime), "For": to.Sub(from).Round(time.Second), "Panels": all})
	return page.Bytes(), err
}

func show(ctx context.Context, prometheus promv1.API, p panel, from, to time.Time) (shown, error) {
	s := shown{Row: p.Type == "row", Title: p.Title, Help: p.Description, Columns: p.GridPos.W}
	if s.Row {
		return s, nil
	}
	var lines []line
	for _, t := range p.Targets {
		query := manifest.Query{Expr: t.Expr}.Instant(window)
		answer, _, _, err := prometheus.QueryRange(ctx, query, promv1.Range{Start: from, End: to, Step: time.Second})
		if err != nil {
			return s, err
		}
		matrix, ok := answer.(model.Matrix)
		if !ok {
			return s, fmt.Errorf("the answer is a %T", answer)
		}
		for _, stream := range matrix {
			lines = append(lines, line{name: named(t.LegendFormat, stream.Metric), points: points(stream.Values)})
		}
	}
	if len(lines) == 0 {
		return s, fmt.Errorf("no answer to %v", p.Targets)
	}
	if p.Type == "stat" {
		for _, l := range lines {
			s.Values = append(s.Values, number(l.last(), p.FieldConfig.Defaults.Unit))
		}
		return s, nil
	}
	var err error
	s.Chart, err = chart(lines, p.FieldConfig.Defaults.Unit, float64(s.Columns)/24)
	for i, l := range lines {
		s.Legend = append(s.Legend, legend{Color: css(i), Name: l.name, Last: number(l.last(), p.FieldConfig.Defaults.Unit)})
	}
	return s, err
}

// line is one series of a chart.
type line struct {
	name   string
	points plotter.XYs
}

func (l line) last() float64 {
	if len(l.points) == 0 {
		return math.NaN()
	}
	return l.points[len(l.points)-1].Y
}

// points skips NaN, such as a quantile without values.
func points(values []model.SamplePair) (xys plotter.XYs) {
	for _, v := range values {
		if y := float64(v.Value); !math.IsNaN(y) && !math.IsInf(y, 0) {
			xys = append(xys, plotter.XY{X: float64(v.Timestamp) / 1000, Y: y})
		}
	}
	return xys
}

// named inserts the labels into a legend.
func named(format string, labels model.Metric) string {
	name := regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(format, func(place string) string {
		return string(labels[model.LabelName(strings.Trim(place, "{}"))])
	})
	return strings.TrimSpace(name)
}

// chart draws the lines as an SVG.
func chart(lines []line, unit string, width float64) (template.HTML, error) {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Tick.Marker = plot.TimeTicks{Format: "15:04:05"}
	p.Y.Tick.Marker = ticks(unit)
	p.Y.Min = 0
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	for i, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		drawn, err := plotter.NewLine(l.points)
		if err != nil {
			return "", err
		}
		drawn.Color, drawn.Width = plotutil.Color(i), vg.Points(1.3)
		p.Add(drawn)
	}
	p.Y.Min = math.Min(p.Y.Min, 0)
	if p.Y.Max <= p.Y.Min {
		p.Y.Max = p.Y.Min + 1 // a line at zero
	}
	svg, err := p.WriterTo(vg.Length(width*1180)*vg.Points(1), vg.Points(170), "svg")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(b.String(), "<svg")
	return template.HTML("<svg" + body), nil //nolint:gosec // drawn by the library from numbers
}

// ticks labels the values in the panel's unit.
func ticks(unit string) plot.TickerFunc {
	return func(low, high float64) []plot.Tick {
		all := plot.DefaultTicks{}.Ticks(low, high)
		for i := range all {
			if all[i].Label != "" {
				all[i].Label = number(all[i].Value, unit)
			}
		}
		return all
	}
}

// number formats a value in one of Grafana's units.
func number(v float64, unit string) string {
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	switch {
	case math.IsNaN(v):
		return "–"
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

func css(i int) template.CSS {
	r, g, b, _ := plotutil.Color(i).RGBA()
	return template.CSS(fmt.Sprintf("rgb(%d,%d,%d)", r>>8, g>>8, b>>8)) //nolint:gosec // three numbers
}
