// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package mixin_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/proompteng/controllerkit/metrics/mixin"
)

func ExampleAlerts() {
	rules, err := mixin.Alerts("agentrun", "agents", "v0.1.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range bytes.Lines(rules) {
		if bytes.Contains(line, []byte("code=")) {
			fmt.Println(string(bytes.TrimSpace(line)))
		}
	}
	// Output:
	// sum by (cluster, namespace, job, scope) (rate(controller_client_requests_total{job="agentrun",namespace="agents",code=~"401|403|429|5xx|error"}[5m]))
}

func ExampleAlerts_mistake() {
	_, err := mixin.Alerts("agentrun", "Agents", "v0.1.0")
	fmt.Println(err)
	// Output: metrics/mixin: Alerts: namespace "Agents" is not accepted; want a DNS label of at most 63 characters
}

func ExampleDashboard() {
	var dashboard struct{ UID, Title string }
	err := json.Unmarshal(mixin.Dashboard(), &dashboard)
	fmt.Println(dashboard.UID, dashboard.Title, err)
	// Output: controllerkit Controllers <nil>
}
