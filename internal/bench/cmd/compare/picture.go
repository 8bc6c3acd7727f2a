// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-analyze/charts"
)

// The size of the picture, and its colours on a light page. The bars have the
// same colours on a dark page; the style replaces the others.
const (
	width, height = 872, 270

	ink, faint = "#1f2328", "#d0d7de"

	style = `<style>
  text { font-family: system-ui, sans-serif !important }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 !important }
    [style*="stroke:FAINT"] { stroke: #3d444d !important }
  }
</style>`
)

var bars = []charts.Color{
	charts.ColorFromHex("#d1242f"), charts.ColorFromHex("#8c959f"), charts.ColorFromHex("#2da44e"),
}

// panel is one of the two charts: a group of bars for each label, one bar for
// each controller.
type panel struct {
	title  string
	labels []string
	values [][]float64 // by controller
	digits int
	legend bool
}

// picture draws what was measured.
func (c *comparison) picture() (string, error) {
	theme := charts.MakeTheme(charts.ThemeOption{
		TextColor:       charts.ColorFromHex(ink),
		AxisStrokeColor: charts.ColorFromHex(faint), AxisSplitLineColor: charts.ColorFromHex(faint),
		BackgroundColor: charts.ColorTransparent, SeriesColors: bars,
	})
	p := charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: width, Height: height, Theme: theme,
	})
	for i, of := range []panel{c.lost(), c.price()} {
		half := p.Child(charts.PainterBoxOption(charts.NewBox(i*width/2, 0, (i+1)*width/2, height)))
		if err := of.draw(half, theme); err != nil {
			return "", err
		}
	}
	svg, err := p.Bytes()
	if err != nil {
		return "", err
	}
	head, body, _ := strings.Cut(string(svg), ">")
	label := fmt.Sprintf(` width="%d" height="%d" role="img" `, width, height) +
		`aria-label="results lost and costs of three controllers">`
	faded := strings.Replace(style, "FAINT", charts.ColorFromHex(faint).String(), 1)
	lines := strings.NewReplacer("\nL", " L", "/><", "/>\n<", "</text><", "</text>\n<")
	return head + label + "\n" + faded + "\n" + lines.Replace(body) + "\n", c.missing
}

// lost has the lost results of each load with a title for the picture.
func (c *comparison) lost() panel {
	p := panel{
		title:  fmt.Sprintf("Results lost, of %d", c.Runs*c.Rounds),
		values: make([][]float64, len(controllers)),
		legend: true,
	}
	for _, l := range loads {
		if l.short == "" {
			continue
		}
		p.labels = append(p.labels, l.short)
		for i, of := range controllers {
			lost := c.of(c.measureOf(l, losses[0].measure), "runs", of.Subject)
			p.values[i] = append(p.values[i], lost.Total)
		}
	}
	return p
}

// price has the costs of the first load, as ratios to the costs of the
// careful controller.
func (c *comparison) price() panel {
	p := panel{
		title:  "Cost if nothing fails; careful is 1",
		labels: []string{"API requests", "API writes", "CPU", "memory"},
		values: make([][]float64, len(controllers)),
		digits: 2,
	}
	for _, col := range costs {
		for i, of := range controllers {
			cost := c.figure(loads[0], col, of.Subject).Median
			p.values[i] = append(p.values[i], cost/c.figure(loads[0], col, careful).Median)
		}
	}
	return p
}

func (p panel) draw(on *charts.Painter, theme charts.ColorPalette) error {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', p.digits, 64) }
	o := charts.NewBarChartOptionWithData(p.values)
	o.Theme, o.Padding = theme, charts.NewBoxEqual(12)
	o.Title = charts.TitleOption{Text: p.title, FontStyle: charts.FontStyle{FontSize: 11}}
	small, smaller := charts.FontStyle{FontSize: 9}, charts.FontStyle{FontSize: 8}
	o.Legend = charts.LegendOption{
		Show: new(p.legend), Offset: charts.OffsetStr{Left: charts.PositionRight}, FontStyle: small,
	}
	o.CategoryAxis.Labels, o.CategoryAxis.LabelCount = p.labels, len(p.labels)
	o.CategoryAxis.LabelFontStyle = small
	o.ValueAxis[0].Show, o.ValueAxis[0].Min = new(false), new(0.0)
	for i := range o.SeriesList {
		o.Legend.SeriesNames = append(o.Legend.SeriesNames, controllers[i].Name)
		o.SeriesList[i].Label = charts.SeriesLabel{
			Show: new(true), ValueFormatter: number, FontStyle: smaller,
		}
	}
	return on.BarChart(o)
}
