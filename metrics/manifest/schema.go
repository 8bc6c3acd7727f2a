// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

// The part of Grafana's dashboard schema that this package writes, with its
// names in JSON. internal/tools/dashboards compares the result with Grafana's
// own types.

type dashboard struct {
	UID           string      `json:"uid"`
	Title         string      `json:"title"`
	Description   string      `json:"description"`
	Tags          []string    `json:"tags"`
	Timezone      string      `json:"timezone"`
	Editable      bool        `json:"editable"`
	GraphTooltip  int         `json:"graphTooltip"`
	Refresh       string      `json:"refresh"`
	SchemaVersion int         `json:"schemaVersion"`
	Version       int         `json:"version"`
	Time          timeRange   `json:"time"`
	Templating    templating  `json:"templating"`
	Annotations   annotations `json:"annotations"`
	Links         []struct{}  `json:"links"`
	Panels        []panelJSON `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []templateVariable `json:"list"`
}

type templateVariable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Datasource *datasource `json:"datasource,omitempty"`
	Query      any         `json:"query"` // a string or a variableQuery
	Definition string      `json:"definition,omitempty"`
	Refresh    int         `json:"refresh"`
	Sort       int         `json:"sort,omitempty"`
	Multi      bool        `json:"multi"`
	IncludeAll bool        `json:"includeAll"`
	AllValue   string      `json:"allValue,omitempty"`
	Current    *current    `json:"current,omitempty"`
}

type variableQuery struct {
	Query string `json:"query"`
	RefID string `json:"refId"`
}

type current struct {
	Text  string `json:"text"`
	Value string `json:"value"`
}

type annotations struct {
	List []struct{} `json:"list"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

func source() *datasource { return &datasource{"prometheus", "${" + varDatasource + "}"} }

type gridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type panelJSON struct {
	ID          int          `json:"id"`
	Type        string       `json:"type"`
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"`
	GridPos     gridPos      `json:"gridPos"`
	Datasource  *datasource  `json:"datasource,omitempty"`
	FieldConfig *fieldConfig `json:"fieldConfig,omitempty"`
	Options     any          `json:"options,omitempty"` // statOptions or lineOptions
	Targets     []targetJSON `json:"targets,omitempty"`
	Collapsed   *bool        `json:"collapsed,omitempty"` // of a row
	Panels      []struct{}   `json:"panels,omitzero"`     // of a row: its hidden panels
}

type targetJSON struct {
	RefID        string      `json:"refId"`
	Datasource   *datasource `json:"datasource"`
	EditorMode   string      `json:"editorMode"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat"`
	Interval     string      `json:"interval"`
	Range        bool        `json:"range"`
	Instant      bool        `json:"instant"`
	Exemplar     bool        `json:"exemplar"`
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []struct{}    `json:"overrides"`
}

type fieldDefaults struct {
	Unit       string      `json:"unit"`
	Min        *float64    `json:"min,omitempty"`
	Color      *color      `json:"color,omitempty"`
	Thresholds *thresholds `json:"thresholds,omitempty"`
	Custom     *lineStyle  `json:"custom,omitempty"`
}

type color struct {
	Mode string `json:"mode"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

type lineStyle struct {
	DrawStyle   string   `json:"drawStyle"`
	LineWidth   int      `json:"lineWidth"`
	FillOpacity int      `json:"fillOpacity"`
	ShowPoints  string   `json:"showPoints"`
	Stacking    stacking `json:"stacking"`
}

type stacking struct {
	Mode  string `json:"mode"`
	Group string `json:"group"`
}

type lineOptions struct {
	Legend  legend  `json:"legend"`
	Tooltip tooltip `json:"tooltip"`
}

type legend struct {
	Calcs       []string `json:"calcs"`
	DisplayMode string   `json:"displayMode"`
	Placement   string   `json:"placement"`
	ShowLegend  bool     `json:"showLegend"`
}

type tooltip struct {
	Mode string `json:"mode"`
	Sort string `json:"sort"`
}

type statOptions struct {
	ColorMode     string        `json:"colorMode"`
	GraphMode     string        `json:"graphMode"`
	JustifyMode   string        `json:"justifyMode"`
	TextMode      string        `json:"textMode"`
	Orientation   string        `json:"orientation"`
	ReduceOptions reduceOptions `json:"reduceOptions"`

	PercentChangeColorMode string `json:"percentChangeColorMode"`
	ShowPercentChange      bool   `json:"showPercentChange"`
	WideLayout             bool   `json:"wideLayout"`
}

type reduceOptions struct {
	Calcs  []string `json:"calcs"`
	Fields string   `json:"fields"`
	Values bool     `json:"values"`
}
