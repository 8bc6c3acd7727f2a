// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

// Options changes how a plan is made. The zero value plans for kubectl's
// current context.
type Options struct {
	// FieldManager is the field manager of the apply. Empty means the manager
	// that applies the live workload, by its managedFields.
	FieldManager string
	// Context is the kubectl context of the cluster. Empty means the current
	// context.
	Context string
	// AllowTemplateChange lets Rollback plan for a Deployment with another pod
	// template than the Rollout has. Its pods replace all pods at the end,
	// without steps. False makes a difference an error. Migration does not use
	// it.
	AllowTemplateChange bool
	// AllowTwoVersions lets Rollback plan for a Rollout whose pods may run
	// another version than its template has, as in the middle of a canary, or
	// after a change that no controller has seen. False makes this an error.
	// Migration does not use it.
	AllowTwoVersions bool

	_ struct{}
}

// Plan is data: print it as a script, or read its steps. The zero Plan does
// nothing.
type Plan struct {
	Warnings []string // what may go wrong for this workload, and what to do about it
	Steps    []Step

	header  []string // what the plan does, to which object, and how to go back
	kubectl string   // with the context and the namespace
	undo    []Op     // leads back from before the last step
}

// Step is one step of a plan. It may be run again.
type Step struct {
	Do string // what it does, and why now
	Op
}

// Op is what a step does to one object. Verb is one of these:
//
//	check   stop unless the object is as planned
//	apply   create the object of Body, if there is none
//	patch   send the JSON Patch of Body
//	wait    until the object has its pods
//	delete  and wait until the object is gone
type Op struct {
	Verb   string
	Object string // such as rollout/web
	Body   string // a manifest in YAML, or a JSON Patch
	terms
}

const (
	check  = "check"
	apply  = "apply"
	patch  = "patch"
	wait   = "wait"
	remove = "delete"
)

// terms are the details of an Op. The templates of the script have a part for
// each verb, which reads them.
type terms struct {
	Fields   string // a jsonpath
	Want     string // what Fields print; a patch is sent only then
	Template string // of a check, the checksum of the pod template
	Other    string // the other workload: a check passes if only that one exists
	Else     string // what a person does about a failed check
	Manager  string // of an apply
	Grow     bool   // a wait scales the object up, if the other workload is
	Seconds  int64  // before a check, or of a wait at most
}
