// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"time"
)

// Method is how the pods change hands.
type Method string

const (
	// SideBySide runs both workloads for a while, with twice the pods. Until
	// its last step a delete of the new workload undoes it.
	SideBySide Method = "SideBySide"
	// Adopt leaves the old ReplicaSets without an owner. The new workload
	// adopts them and replaces their pods one after the other.
	Adopt Method = "Adopt"
	// Reference keeps the Deployment as the source of the pod template, by a
	// workloadRef.
	Reference Method = "Reference"
)

// Options changes how a plan is made. The zero value plans SideBySide for
// kubectl's current context and with kubectl's own field manager.
type Options struct {
	// Method is how the pods change hands. Empty means SideBySide.
	Method Method
	// FieldManager is the field manager of the plan's applies.
	// Pass the name that applies its manifest from then on. Empty means
	// kubectl's own.
	FieldManager string
	// Context is the kubectl context of the cluster. Empty means the current
	// context.
	Context string
	// Time is when the live objects were read. The header names it. Zero means
	// that the header has no time.
	Time time.Time
	// AllowTemplateChange lets Rollback plan for a Deployment that has other
	// images or containers than the Rollout, and while pods may run a version
	// that the Rollout does not name: a canary is in progress or aborted, the
	// Rollout is paused by spec.paused, the controller has not taken up the
	// generation of the Rollout or of its workload, or the API server refuses
	// the ReplicaSet of the template. False makes these errors. With true,
	// compare the images yourself. Migration does not use it.
	AllowTemplateChange bool

	_ struct{}
}

// Action is one step of a Plan. Command and Until are shell commands.
type Action struct {
	Do      string // what it does, and why now
	Command string // does it; may be run again
	Until   string // returns 0 when the next action may begin, fails at its deadline; "" if Command waits itself
}

// Plan is data: print it as a script, or run its actions in order, each from
// the same directory: one of them writes a JSON file there. Stop at the first
// command that fails. The commands need sh, kubectl, awk and grep. A wait for
// pods ends after 30 seconds and minReadySeconds for each pod, and not before
// 10 minutes; a wait for a deletion after 60 seconds (Adopt) or 10 minutes. The
// zero Plan does nothing.
type Plan struct {
	Header   string // the workload, the cluster, the time, what the plan does, and how to go back
	Actions  []Action
	Warnings []string // what may go wrong for this workload, and what to do about it
}

// String returns the plan as a script for sh or bash. It prints each step
// before it does it, and stops at the first command that fails. Its commands
// are in a subshell, so a stop does not close the terminal that the script is
// pasted into.
func (p Plan) String() string {
	var b strings.Builder
	if len(p.Actions) > 0 {
		b.WriteString("#!/bin/sh\n")
	}
	if p.Header != "" {
		b.WriteString("# " + comment(p.Header) + "\n")
	}
	for _, w := range p.Warnings {
		b.WriteString("\n# WARNING: " + comment(w) + "\n")
	}
	if len(p.Actions) == 0 {
		return b.String()
	}
	b.WriteString("(\nset -eu\n")
	for i, a := range p.Actions {
		fmt.Fprintf(&b, "\necho %s\n%s\n", quote(fmt.Sprintf("%d/%d %s", i+1, len(p.Actions), a.Do)), a.Command)
		if a.Until != "" {
			fmt.Fprintf(&b, "# wait\n%s\n", a.Until)
		}
	}
	b.WriteString("\necho 'Done'\n)\n")
	return b.String()
}

// comment keeps text that comes from an object within its comment.
func comment(s string) string {
	return strings.NewReplacer("\n", "\n# ", "\r", " ").Replace(s)
}
