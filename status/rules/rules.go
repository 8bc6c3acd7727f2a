// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules generates CEL validation rules for CRDs. With them the API
// server holds every program that writes a status to the contract of package
// status. A generator or a test of a CRD calls it. A running controller does
// not need it.
package rules

import (
	"cmp"
	"strings"

	"github.com/proompteng/controllerkit/status"
)

// Rule is one CEL validation rule of a CRD: an element of
// x-kubernetes-validations.
type Rule struct {
	// Rule is the CEL expression.
	Rule string
	// Message is the API server's answer to a writer that breaks the rule.
	Message string
}

// For returns the CEL rules of a kind. They hold every writer to the contract:
// the status is never dropped, observedGeneration never goes back,
// startedAt and finishedAt never move. A field with the name "-" gets no rule.
// For does not check the names.
//
// They belong on the root of the schema: on the status itself, `status: null`
// would escape them. With controller-gen, copy the markers of the zero
// [status.FieldNames] above the type of the kind (markers within an embedded
// struct land on the status):
//
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(self.status)",message="status may not be dropped"
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.observedGeneration) || has(self.status.observedGeneration) && self.status.observedGeneration >= oldSelf.status.observedGeneration",message="status.observedGeneration may not go back"
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.startedAt) || has(self.status.startedAt) && int(self.status.startedAt) == int(oldSelf.status.startedAt)",message="status.startedAt may not change once set"
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.finishedAt) || has(self.status.finishedAt) && int(self.status.finishedAt) == int(oldSelf.status.finishedAt)",message="status.finishedAt may not change once set"
//
// Leave out the marker of a field that the kind does not have: the schema must
// declare the others, the times with format date-time. Times are compared in
// whole seconds, because a rewrite of .123Z as Z is not a change. The rules do
// not apply when an object is created. They may refuse a backup that is
// restored over an existing object: delete the object first. A rule cannot read
// metadata.generation: statustest.Check reports an observedGeneration that is
// greater.
//
// kstatus reports an object without observedGeneration as Current. The marker
// +kubebuilder:default={"observedGeneration":-1} on the status field makes it
// InProgress. Package status accepts -1: it is less than every generation.
func For(n status.FieldNames) []Rule {
	rules := []Rule{{
		Rule:    "!has(oldSelf.status) || has(self.status)",
		Message: "status may not be dropped",
	}}
	const isNotLess = "self.FIELD >= oldSelf.FIELD"
	const isSameTime = "int(self.FIELD) == int(oldSelf.FIELD)"
	fields := []struct{ name, holds, message string }{
		{cmp.Or(n.ObservedGeneration, "observedGeneration"), isNotLess, "may not go back"},
		{cmp.Or(n.StartedAt, "startedAt"), isSameTime, "may not change once set"},
		{cmp.Or(n.FinishedAt, "finishedAt"), isSameTime, "may not change once set"},
	}
	for _, f := range fields {
		if f.name == "-" {
			continue
		}
		const guard = "!has(oldSelf.status) || !has(self.status) || !has(oldSelf.FIELD) || " +
			"has(self.FIELD) && "
		rules = append(rules, Rule{
			Rule:    strings.ReplaceAll(guard+f.holds, "FIELD", "status."+celName(f.name)),
			Message: "status." + f.name + " " + f.message,
		})
	}
	return rules
}

// celName escapes the name of a property as the API server does
// (k8s.io/apiserver/pkg/cel, escaping.go).
func celName(name string) string {
	switch name {
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
		"function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while":
		return "__" + name + "__"
	}
	escapes := strings.NewReplacer("__", "__underscores__", "-", "__dash__", "/", "__slash__")
	return escapes.Replace(name)
}
