// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

// PrometheusRule returns the alerts as an object of Prometheus Operator (monitoring.coreos.com/v1), in YAML.
func (p *Pack) PrometheusRule() []byte {
	return document(mapping{
		{"apiVersion", "monitoring.coreos.com/v1"},
		{"kind", "PrometheusRule"},
		{"metadata", p.target.metadata(p.target.Name, nil, nil)},
		{"spec", p.groups()},
	})
}

// Rules returns the same alerts as a rule file of Prometheus, for promtool and for a Prometheus without the operator.
func (p *Pack) Rules() []byte { return document(p.groups()) }

func (p *Pack) groups() mapping {
	var all list
	for _, a := range p.alerts {
		all = append(all, mapping{
			{"alert", a.name},
			{"expr", text(a.expr())},
			{"for", promDuration(a.wait)},
			{"labels", append(mapping{{"severity", a.severity}}, a.labels...)},
			{"annotations", mapping{
				{"summary", a.summary},
				{"description", a.description},
				{"runbook_url", p.target.runbook(a.name)},
			}},
		})
	}
	return mapping{{"groups", list{mapping{{"name", p.target.Name}, {"rules", all}}}}}
}
