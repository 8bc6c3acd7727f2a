// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package mixin_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/mixin"
)

// The part of Grafana's schema that the dashboard uses, with the names of the
// types of Grafana 13. Grafana ignores a field that it does not know.
type (
	grafana struct {
		UID           string            `json:"uid"`
		Title         string            `json:"title"`
		Description   string            `json:"description"`
		Tags          []string          `json:"tags"`
		Timezone      string            `json:"timezone"`
		Editable      bool              `json:"editable"`
		GraphTooltip  int               `json:"graphTooltip"`
		Refresh       string            `json:"refresh"`
		SchemaVersion int               `json:"schemaVersion"`
		Version       int               `json:"version"`
		Time          map[string]string `json:"time"`
		Templating    struct {
			List []variable `json:"list"`
		} `json:"templating"`
		Annotations struct {
			List []struct{} `json:"list"`
		} `json:"annotations"`
		Links  []struct{} `json:"links"`
		Panels []panel    `json:"panels"`
	}
	variable struct {
		Name       string            `json:"name"`
		Label      string            `json:"label"`
		Type       string            `json:"type"`
		Datasource *source           `json:"datasource,omitempty"`
		Query      any               `json:"query"`
		Definition string            `json:"definition,omitempty"`
		Refresh    int               `json:"refresh"`
		Sort       int               `json:"sort,omitempty"`
		Multi      bool              `json:"multi"`
		IncludeAll bool              `json:"includeAll"`
		AllValue   string            `json:"allValue,omitempty"`
		Current    map[string]string `json:"current,omitempty"`
	}
	source struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	place struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	panel struct {
		ID          int        `json:"id"`
		Type        string     `json:"type"`
		Title       string     `json:"title"`
		Description string     `json:"description,omitempty"`
		GridPos     place      `json:"gridPos"`
		Datasource  *source    `json:"datasource,omitempty"`
		FieldConfig *fields    `json:"fieldConfig,omitempty"`
		Options     any        `json:"options,omitempty"` // compared with the only two forms
		Targets     []target   `json:"targets,omitempty"`
		Collapsed   *bool      `json:"collapsed,omitempty"` // of a row
		Panels      []struct{} `json:"panels,omitzero"`     // of a row: its hidden panels
	}
	target struct {
		RefID        string `json:"refId"`
		Datasource   source `json:"datasource"`
		EditorMode   string `json:"editorMode"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		Interval     string `json:"interval"`
		Range        bool   `json:"range"`
		Instant      bool   `json:"instant"`
		Exemplar     bool   `json:"exemplar"`
	}
	fields struct {
		Defaults struct {
			Unit       string            `json:"unit"`
			Min        *float64          `json:"min"`
			Color      map[string]string `json:"color"`
			Thresholds *struct {
				Mode  string `json:"mode"`
				Steps []struct {
					Color string   `json:"color"`
					Value *float64 `json:"value"`
				} `json:"steps"`
			} `json:"thresholds,omitempty"`
			Custom *struct {
				DrawStyle   string            `json:"drawStyle"`
				LineWidth   int               `json:"lineWidth"`
				FillOpacity int               `json:"fillOpacity"`
				ShowPoints  string            `json:"showPoints"`
				Stacking    map[string]string `json:"stacking"`
			} `json:"custom,omitempty"`
		} `json:"defaults"`
		Overrides []struct{} `json:"overrides"`
	}
)

// The options of a panel, by its type.
const (
	statOptions = `{"colorMode":"value","graphMode":"none","justifyMode":"auto","textMode":"auto","orientation":"auto",` +
		`"reduceOptions":{"calcs":["lastNotNull"],"fields":"","values":false},` +
		`"percentChangeColorMode":"standard","showPercentChange":false,"wideLayout":true}`
	lineOptions = `{"legend":{"calcs":["lastNotNull","max"],"displayMode":"table","placement":"bottom","showLegend":true},` +
		`"tooltip":{"mode":"multi","sort":"desc"}}`
)

// TestDashboard_IsWhatGrafanaReads: Grafana knows each field and value, the
// panels have their own places and numbers, the queries take the data source
// and their selection from variables, and each legend names labels that its
// query keeps.
//
//req:shows O3
func TestDashboard_IsWhatGrafanaReads(t *testing.T) {
	var d grafana
	require.NoError(t, json.Unmarshal(mixin.Dashboard(), &d))
	again, err := json.Marshal(d)
	require.NoError(t, err)
	require.JSONEq(t, string(mixin.Dashboard()), string(again), "Grafana has no such field")

	assert.Equal(t, 39, d.SchemaVersion, "Grafana 11, which later ones convert")
	assert.False(t, d.Editable, "the sidecar would overwrite what a person changes")
	assert.LessOrEqual(t, len(d.UID), 40)
	assertVariables(t, d)
	taken := map[[2]int]string{}
	for n, p := range d.Panels {
		assert.Equal(t, n+1, p.ID, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				assert.Less(t, at[0], 24, "%s is too wide", p.Title)
				assert.Empty(t, taken[at], "%s is on another panel", p.Title)
				taken[at] = p.Title
			}
		}
		if p.Type == "row" {
			assert.False(t, *p.Collapsed, p.Title)
			continue
		}
		assertPanel(t, p)
	}
	assert.Len(t, taken, 24*(d.Panels[len(d.Panels)-1].GridPos.Y+8), "no gaps")
}

func assertPanel(t *testing.T, p panel) {
	t.Helper()
	assert.NotEmpty(t, p.Description, p.Title)
	assert.Equal(t, &source{"prometheus", "${datasource}"}, p.Datasource, p.Title)
	assert.NotEmpty(t, p.Targets, p.Title)
	defaults := p.FieldConfig.Defaults
	assert.Contains(t, []string{"s", "ops", "percentunit", "short", "bytes"}, defaults.Unit, p.Title)
	options, err := json.Marshal(p.Options)
	require.NoError(t, err)
	switch p.Type {
	case "stat":
		assert.JSONEq(t, statOptions, string(options), p.Title)
		assert.Equal(t, map[string]string{"mode": "thresholds"}, defaults.Color, p.Title)
		assert.Equal(t, "absolute", defaults.Thresholds.Mode, p.Title)
		assert.Nil(t, defaults.Thresholds.Steps[0].Value, "%s: the first step is the base", p.Title)
	case "timeseries":
		assert.JSONEq(t, lineOptions, string(options), p.Title)
		assert.Equal(t, map[string]string{"mode": "palette-classic"}, defaults.Color, p.Title)
		assert.Equal(t, "line", defaults.Custom.DrawStyle, p.Title)
		assert.Equal(t, "never", defaults.Custom.ShowPoints, p.Title)
		assert.Contains(t, []string{"none", "normal"}, defaults.Custom.Stacking["mode"], p.Title)
	default:
		assert.Fail(t, "an unknown type", "%s: %s", p.Title, p.Type)
	}
	for n, q := range p.Targets {
		assert.Equal(t, string(rune('A'+n)), q.RefID, p.Title)
		assert.Equal(t, source{"prometheus", "${datasource}"}, q.Datasource, p.Title)
		assert.Equal(t, "code", q.EditorMode, p.Title)
		assert.Equal(t, "30s", q.Interval, "%s: the chart replaces it", p.Title)
		assert.Equal(t, p.Type == "stat", q.Instant, p.Title)
		assert.NotEqual(t, q.Range, q.Instant, p.Title)
		assert.Equal(t, strings.Contains(q.Expr, "histogram_quantile"), q.Exemplar, "%s: exemplars are drawn with quantiles", p.Title)
		kept := strings.FieldsFunc(strings.Join(regexp.MustCompile(`by \([^)]*\)`).FindAllString(q.Expr, -1), " "), func(r rune) bool {
			return strings.ContainsRune("(), ", r)
		})
		for _, label := range regexp.MustCompile(`\{\{(.*?)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
			assert.Contains(t, kept, label[1], "%s: the query drops it", p.Title)
		}
		for _, selector := range regexp.MustCompile(`\{[^{}]*\}`).FindAllString(q.Expr, -1) {
			for _, name := range []string{"cluster", "namespace", "job", "instance"} {
				assert.Contains(t, selector, name+`=~"$`+name+`"`, p.Title)
			}
		}
	}
}

// assertVariables compares the variables with their uses.
func assertVariables(t *testing.T, d grafana) {
	t.Helper()
	defined := []string{"__rate_interval", "__range"}
	for n, v := range d.Templating.List {
		assert.NotContains(t, defined, v.Name)
		defined = append(defined, v.Name)
		if n == 0 {
			assert.Equal(t, variable{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus", Refresh: 1}, v)
			continue
		}
		assert.Equal(t, "query", v.Type, v.Name)
		assert.Equal(t, &source{"prometheus", "${datasource}"}, v.Datasource, v.Name)
		assert.Equal(t, map[string]any{"query": v.Definition, "refId": "Variable-" + v.Name}, v.Query, v.Name)
		assert.Regexp(t, `^label_values\(controller_reconciles_total(\{.+\})?, `+v.Name+`\)$`, v.Definition)
		assert.Equal(t, 2, v.Refresh, "%s: with the time range", v.Name)
		assert.True(t, v.Multi && v.IncludeAll, v.Name)
		all := ".*" // also without the label
		if slices.Contains([]string{"job", "instance", "controller"}, v.Name) {
			all = ".+"
		}
		assert.Equal(t, all, v.AllValue, v.Name)
	}
	body := string(mixin.Dashboard())
	var used []string
	for _, found := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(body, -1) {
		used = append(used, found[1])
	}
	for _, name := range used {
		assert.Contains(t, append(defined, "__all"), name, "no such variable")
	}
	for _, name := range defined {
		assert.Contains(t, used, name, "a variable that nothing uses")
	}
}
