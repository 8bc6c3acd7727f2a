// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// Rule is what [Target.Edit] may change of an alert.
type Rule struct {
	// Name is the name of the alert. Changing it changes nothing.
	Name string
	// Severity is the value of the label severity.
	Severity string
	// Labels are more labels of the alert, none by default, such as a team by
	// which Alertmanager routes.
	Labels map[string]string
	// Threshold is what the value of the alert is compared with: a number of
	// seconds, a share or a count.
	Threshold float64
	// For is how long the comparison must hold before the alert fires.
	For time.Duration
	// Omit leaves the alert out.
	Omit bool
}

// labelSeverity is the label of Rule.Severity.
const labelSeverity = "severity"

// edited applies edit to each alert. The error names each change that cannot be
// used.
func edited(all []alert, edit func(*Rule)) ([]alert, error) {
	if edit == nil {
		return all, nil
	}
	var kept []alert
	c := &checks{}
	for _, a := range all {
		r := Rule{Name: a.name, Severity: a.severity, Threshold: a.threshold, For: a.wait}
		edit(&r)
		if r.Omit {
			continue
		}
		r.check(c, a.name)
		a.severity = r.Severity
		a.threshold = r.Threshold
		a.wait = r.For
		labels := maps.Clone(r.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, a.labels)
		a.labels = labels
		kept = append(kept, a)
	}
	return kept, errors.Join(c.errs...)
}

// check accepts the changes of one alert.
func (r Rule) check(c *checks, name string) {
	field := func(name2 string) string { return fmt.Sprintf("Edit of %s: %s", name, name2) }
	c.want(r.Severity != "" && printable(r.Severity), field("Severity"), r.Severity,
		"printable text, such as warning")
	finite := !math.IsNaN(r.Threshold) && !math.IsInf(r.Threshold, 0)
	c.want(finite, field("Threshold"), r.Threshold, "a finite number")
	if name == reconcileSlow {
		bounds := catalog.Instruments().ReconcileDuration.Buckets
		last := bounds[len(bounds)-1]
		c.want(r.Threshold < last, field("Threshold"), r.Threshold, "below %v, the last bound "+
			"of the histogram", last)
	}
	if r.For != 0 {
		c.duration(field("For"), r.For)
	}
	for _, label := range slices.Sorted(maps.Keys(r.Labels)) {
		free := !slices.Contains([]string{labelSeverity, "alertname", varJob, varNamespace}, label)
		c.want(free && matches(labelName, label), field("Labels"), label,
			"the name of a label other than severity, alertname, job and namespace")
		value := r.Labels[label]
		c.want(printable(value), field(fmt.Sprintf("Labels[%q]", label)), value, "printable text")
	}
}
