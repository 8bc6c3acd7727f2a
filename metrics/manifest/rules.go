// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import "maps"

// ruleGroups is a rule file of Prometheus, and the spec of a PrometheusRule.
type ruleGroups struct {
	Groups []ruleGroup `json:"groups"`
}

type ruleGroup struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

// rule is an alert or a recording rule.
type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PrometheusRule returns the alerts, and with Target.OldNames the recording
// rules, as an object of Prometheus Operator (monitoring.coreos.com/v1), in
// YAML.
func (b *Bundle) PrometheusRule() []byte {
	return document(object{
		APIVersion: monitoringAPI,
		Kind:       "PrometheusRule",
		Metadata:   b.target.metadata(b.target.Name, nil, nil),
		Spec:       b.groups(),
	})
}

// Rules returns the same groups as a rule file of Prometheus, for promtool and
// for a Prometheus without the operator.
func (b *Bundle) Rules() []byte { return document(b.groups()) }

func (b *Bundle) groups() ruleGroups {
	alerts := ruleGroup{Name: b.target.Name, Rules: []rule{}}
	for _, a := range b.Alerts() {
		labels := map[string]string{labelSeverity: a.Severity}
		maps.Copy(labels, a.Labels)
		alerts.Rules = append(alerts.Rules, rule{
			Alert:  a.Name,
			Expr:   a.Expr,
			For:    promDuration(a.For),
			Labels: labels,
			Annotations: map[string]string{
				"summary":     a.Summary,
				"description": a.Description,
				"runbook_url": a.RunbookURL,
			},
		})
	}
	all := ruleGroups{Groups: []ruleGroup{alerts}}
	if b.target.OldNames {
		old := ruleGroup{Name: b.target.Name + "-old-names"}
		for _, r := range b.old {
			old.Rules = append(old.Rules, rule{Record: r.name, Expr: r.expr, Labels: r.labels})
		}
		all.Groups = append(all.Groups, old)
	}
	return all
}
