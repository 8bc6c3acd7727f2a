// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "html/template"

// pageTemplate is the page, with a grid of 24 columns like Grafana's.
var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{{.Title}}</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 20px; background: #f4f5f7; color: #1f2430; }
h1 { font-size: 22px; margin: 0 0 4px; }
p { margin: 0 0 16px; color: #5a6072; }
main { display: grid; grid-template-columns: repeat(24, 1fr); gap: 10px; }
h2 { grid-column: 1 / -1; font-size: 16px; margin: 14px 0 0; }
section { background: #fff; border: 1px solid #dfe2e8; border-radius: 4px; padding: 10px 12px; min-width: 0; }
h3 { font-size: 14px; margin: 0 0 6px; }
.value { font-size: 26px; font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
ul { list-style: none; margin: 6px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12px; }
i { display: inline-block; width: 12px; height: 3px; margin-right: 5px; vertical-align: middle; }
b { font-weight: 600; }
</style>
<h1>{{.Title}}</h1>
<p>From {{.From}}, {{.For}} of load; drawn from the answers of Prometheus to the dashboard's own queries.</p>
<main>
{{range .Panels}}{{if .Row}}<h2>{{.Title}}</h2>
{{else}}<section style="grid-column: span {{.Columns}}" title="{{.Help}}"><h3>{{.Title}}</h3>
{{range .Values}}<div class="value">{{.}}</div>{{end}}{{.Chart}}
{{if .Legend}}<ul>{{range .Legend}}<li><i style="background: {{.Color}}"></i>{{.Name}} <b>{{.Last}}</b></li>{{end}}</ul>{{end}}</section>
{{end}}{{end}}</main>
</html>
`))
