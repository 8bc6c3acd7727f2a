// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/proompteng/controllerkit/metrics/catalog"

// process is the metrics of a process that Prometheus' own client exports.
// metrics/prom and most programs serve them.
type process struct{ cpu, memory, goroutines, started catalog.Instrument }

func ofProcess() process {
	return process{
		cpu: catalog.Instrument{
			Name: "process.cpu",
			Unit: "s",
			Kind: catalog.Counter,
		},
		memory: catalog.Instrument{
			Name: "process.resident_memory_bytes",
			Kind: catalog.UpDownCounter,
		},
		goroutines: catalog.Instrument{
			Name: "go.goroutines",
			Kind: catalog.UpDownCounter,
		},
		started: catalog.Instrument{
			Name: "process.start_time",
			Unit: "s",
			Kind: catalog.Gauge,
		},
	}
}

// all lists them.
func (p process) all() []catalog.Instrument {
	return []catalog.Instrument{p.cpu, p.memory, p.goroutines, p.started}
}

// ofControllers keeps the processes that have a controller, because a dashboard
// may select every job in Prometheus.
func (q *queries) ofControllers(e expr, i catalog.Table) expr {
	e.text += " and" + q.on(q.process()) + " (" + q.series(i.ReconcileActive, "", nil) + ")"
	return e
}

// restarts is how often processes have restarted under their addresses.
func (q *queries) restarts(window string, by []string) expr {
	i := ofProcess().started
	q.check(i, by, nil, catalog.Gauge)
	changes := "changes(" + q.series(i, "", nil) + "[" + window + "])"
	return expr{text: "max" + q.group(by) + " (" + changes + ")", unit: unitCount, by: by}
}
