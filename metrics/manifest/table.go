// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// Table returns the catalogue as a table of Markdown: every instrument under
// its name in OpenTelemetry and in Prometheus.
func Table() []byte {
	var b strings.Builder
	b.WriteString("| instrument | in Prometheus | unit | kind | labels | meaning |\n" +
		"|---|---|---|---|---|---|\n")
	for _, i := range catalog.Instruments().All() {
		unit := i.Unit
		if unit == "" {
			unit = "none"
		}
		labels := strings.Join(i.Attributes, ", ")
		meaning := strings.ReplaceAll(i.Description, "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s |\n",
			i.Name, i.PrometheusName(), unit, i.Kind, labels, meaning)
	}
	return []byte(b.String())
}
