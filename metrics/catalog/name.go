// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import "strings"

// PrometheusName is the family name that OpenTelemetry's Prometheus exporter
// gives the instrument under the strategy UnderscoreEscapingWithSuffixes, for
// example "controller_reconciles_total". Histograms add _bucket, _sum and
// _count. It knows the units of this table: seconds, annotations in braces and
// none.
func (i Instrument) PrometheusName() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	if i.Unit == "s" {
		name += "_seconds"
	}
	if i.Kind == Counter {
		name += "_total"
	}
	return name
}
