// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// schemaVersion is the version of Grafana 11. Later releases convert it, like
// any older version.
const schemaVersion = 39

// A dashboard is 24 columns wide: six numbers or two graphs in a line.
const (
	columns    = 24
	statWidth  = 4
	statHeight = 4
	lineWidth  = 12
	lineHeight = 8
)

// UID is the dashboard's identity in Grafana, the same for the same
// Target.Name: at most 40 characters, which is Grafana's bound.
func (b *Bundle) UID() string {
	sum := sha256.Sum256([]byte(b.target.Name))
	return "controllerkit-" + hex.EncodeToString(sum[:8])
}

// Dashboard returns the dashboard as JSON for Grafana's import, its
// provisioning or its sidecar. The data source, each of Target.KeepLabels, the
// namespace, job, instance and controller are variables. The text fits into a
// Helm template unchanged.
func (b *Bundle) Dashboard() []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(b.dashboard()) // strings, numbers and structs of them can be encoded
	return templateSafe(text.Bytes())
}

// DashboardConfigMap returns a ConfigMap with the dashboard, in YAML. The
// sidecar of Grafana's chart finds it by Target.DashboardLabels. The text fits
// into a Helm template unchanged.
func (b *Bundle) DashboardConfigMap() []byte {
	annotations := map[string]string{}
	if b.target.Folder != "" {
		annotations["grafana_folder"] = b.target.Folder
	}
	name := b.target.Name + "-dashboard"
	return document(object{
		APIVersion: "v1",
		Kind:       "ConfigMap",
		Metadata:   b.target.metadata(name, b.target.DashboardLabels, annotations),
		Data:       map[string]string{b.UID() + ".json": string(b.Dashboard())},
	})
}

func (b *Bundle) dashboard() dashboard {
	d := dashboard{
		UID: b.UID(), Title: b.target.Name + ": controller", Tags: []string{"controllerkit"},
		Description: "Reconciles, queue, runs, events and API requests of controllers that " +
			"record with controllerkit.",
		Timezone: "browser", SchemaVersion: schemaVersion, Refresh: "30s", Version: 1,
		Time: timeRange{"now-1h", "now"},
		Templating: templating{[]templateVariable{{
			Name:    varDatasource,
			Label:   "Data source",
			Type:    "datasource",
			Query:   "prometheus",
			Refresh: 1,
		}}},
		Annotations: annotations{[]struct{}{}},
		Links:       []struct{}{},
	}
	for _, v := range variables(b.target.KeepLabels) {
		d.Templating.List = append(d.Templating.List, templateVariable{
			Name: v.name, Label: v.label, Type: "query", Datasource: source(),
			Query: variableQuery{v.query, "Variable-" + v.name}, Definition: v.query,
			Refresh: 2, Sort: 1, Multi: true, IncludeAll: true, AllValue: v.all,
			Current: &current{"All", "$__all"},
		})
	}
	minStep := grafanaDuration(b.target.Interval)
	y := 0
	for _, r := range b.rows {
		d.add(panelJSON{
			Type:      "row",
			Title:     r.title,
			GridPos:   gridPos{1, columns, 0, y},
			Collapsed: new(bool),
			Panels:    []struct{}{},
		})
		y++
		x := 0
		height := 0
		for n, pan := range r.panels {
			j := pan.json(minStep)
			if x+j.GridPos.W > columns {
				x = 0
				y += height
			}
			if n == len(r.panels)-1 { // the last one gets the rest of its line
				j.GridPos.W = columns - x
			}
			j.GridPos.X = x
			j.GridPos.Y = y
			x += j.GridPos.W
			height = j.GridPos.H
			d.add(j)
		}
		y += height
	}
	return d
}

// add gives the panel its number.
func (d *dashboard) add(p panelJSON) {
	p.ID = len(d.Panels) + 1
	d.Panels = append(d.Panels, p)
}

// templateQuery is a variable that is filled from the label of the same name.
type templateQuery struct{ name, label, query, all string }

// variables lists the variables that select targets and controllers: one for
// each kept label, then the variables of every dashboard. If a label may be
// absent, All also matches its absence.
func variables(kept []string) []templateQuery {
	metric := catalog.Instruments().Reconciles.PrometheusName()
	var all []templateQuery
	var matchers []string
	add := func(name, label, everything string, selected []string) {
		query := "label_values(" + metric + "{" + strings.Join(selected, ",") + "}, " + name + ")"
		query = strings.Replace(query, "{}", "", 1)
		all = append(all, templateQuery{name, label, query, everything})
		matchers = append(matchers, variable(name))
	}
	for _, name := range kept {
		add(name, name, ".*", nil)
	}
	add(varNamespace, "Namespace", ".*", matchers)
	add(varJob, "Job", ".+", matchers)
	inJob := slices.Clone(matchers)
	add(varInstance, "Instance", ".+", inJob)
	add(varController, "Controller", ".+", inJob)
	return all
}

// json is the panel with a minimum step of its queries. Grafana computes
// $__rate_interval from the step, and from 15 s without one.
func (p panel) json(minStep string) panelJSON {
	j := panelJSON{
		Type:        "timeseries",
		Title:       p.title,
		Description: p.description,
		Datasource:  source(),
		GridPos:     gridPos{H: lineHeight, W: lineWidth},
		FieldConfig: &fieldConfig{
			Defaults: fieldDefaults{
				Unit: p.targets[0].expr.unit,
				Min:  new(float64),
			},
			Overrides: []struct{}{},
		},
	}
	for n, t := range p.targets {
		j.Targets = append(j.Targets, targetJSON{
			RefID:        string(rune('A' + n)),
			Datasource:   source(),
			EditorMode:   "code",
			Expr:         t.expr.text,
			LegendFormat: t.legend,
			Interval:     minStep,
			Range:        !p.stat,
			Instant:      p.stat,
			Exemplar:     t.expr.exemplar,
		})
	}
	if p.stat {
		j.Type = "stat"
		j.GridPos = gridPos{H: statHeight, W: statWidth}
		j.FieldConfig.Defaults.Thresholds = p.thresholds()
		j.FieldConfig.Defaults.Color = &color{"thresholds"}
		j.Options = statOptions{
			ColorMode:     "value",
			GraphMode:     "none",
			JustifyMode:   "auto",
			TextMode:      "auto",
			Orientation:   "auto",
			ReduceOptions: reduceOptions{[]string{"lastNotNull"}, "", false},

			PercentChangeColorMode: "standard", WideLayout: true,
		}
		return j
	}
	j.FieldConfig.Defaults.Color = &color{"palette-classic"}
	j.FieldConfig.Defaults.Custom = &lineStyle{
		DrawStyle:   "line",
		LineWidth:   1,
		FillOpacity: 10,
		ShowPoints:  "never",
		Stacking:    stacking{"none", "A"},
	}
	if p.stacked {
		j.FieldConfig.Defaults.Custom.Stacking.Mode = "normal"
		j.FieldConfig.Defaults.Custom.FillOpacity = 30
	}
	j.Options = lineOptions{
		Legend:  legend{[]string{"lastNotNull", "max"}, "table", "bottom", true},
		Tooltip: tooltip{"multi", "desc"},
	}
	return j
}

// thresholds colour a number. The first step has no value: it is the base
// colour.
func (p panel) thresholds() *thresholds {
	good := "green"
	bad := "red"
	if p.redBelow {
		good, bad = bad, good
	}
	return &thresholds{"absolute", []step{{good, nil}, {bad, &p.red}}}
}
