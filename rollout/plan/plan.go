// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
)

// Method is how the pods change hands.
type Method string

const (
	// SideBySide runs both for a while: twice the pods, upstream's advice, and undone by a delete until the last step.
	SideBySide Method = "SideBySide"
	// Adopt leaves the old ReplicaSets without an owner, and the new one replaces their pods one after the other.
	Adopt Method = "Adopt"
	// Reference keeps the Deployment as the source of the pod template, by a workloadRef.
	Reference Method = "Reference"
)

// Action is one step of a Plan. Command and Until are shell commands for kubectl and its current context.
type Action struct {
	Do      string // what it does, and why now
	Command string // does it; may be repeated
	Until   string // returns 0 once the next action may begin, fails or stays if not; "" if Command does that itself
}

// Plan is data: run the actions one after the other, each from the same folder, or print it. The zero Plan does nothing.
type Plan struct {
	Actions  []Action
	Warnings []string // the traps that this workload walks into, with what to do
}

// String is the plan as a runbook that is a shell script too, and stops at the first command that fails.
func (p Plan) String() string {
	var b strings.Builder
	if len(p.Actions) > 0 {
		b.WriteString("set -eu\n")
	}
	for _, w := range p.Warnings {
		b.WriteString("\n# WARNING: " + comment(w) + "\n")
	}
	for i, a := range p.Actions {
		fmt.Fprintf(&b, "\n# %d. %s\n%s\n", i+1, comment(a.Do), a.Command)
		if a.Until != "" {
			fmt.Fprintf(&b, "# wait\n%s\n", a.Until)
		}
	}
	return b.String()
}

// comment keeps text that comes from an object within its comment.
func comment(s string) string {
	return strings.NewReplacer("\n", "\n# ", "\r", " ").Replace(s)
}
