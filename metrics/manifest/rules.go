// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

// PrometheusRule returns the alerts, and with Target.OldNames the recording
// rules, as an object of Prometheus Operator (monitoring.coreos.com/v1), in
// YAML.
func (p *Bundle) PrometheusRule() []byte {
	return document(mapping{
		{"apiVersion", "monitoring.coreos.com/v1"},
		{"kind", "PrometheusRule"},
		{"metadata", p.target.metadata(p.target.Name, nil, nil)},
		{"spec", p.groups()},
	})
}

// Rules returns the same groups as a rule file of Prometheus, for promtool and
// for a Prometheus without the operator.
func (p *Bundle) Rules() []byte { return document(p.groups()) }

func (p *Bundle) groups() mapping {
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
	groups := list{mapping{{"name", p.target.Name}, {"rules", all}}}
	if p.target.OldNames {
		var old list
		for _, r := range p.old {
			rule := mapping{{"record", r.name}, {"expr", text(r.expr)}}
			if len(r.labels) > 0 {
				rule = append(rule, field{"labels", r.labels})
			}
			old = append(old, rule)
		}
		groups = append(groups, mapping{{"name", p.target.Name + "-old-names"}, {"rules", old}})
	}
	return mapping{{"groups", groups}}
}
