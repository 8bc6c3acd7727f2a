// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strings"
)

// Rule is one CEL validation rule of a CRD, an element of x-kubernetes-validations.
type Rule struct {
	// Rule is the expression.
	Rule string
	// Message is what a writer that breaks it is told.
	Message string
}

// Rules returns the CEL rules by which the API server holds every writer to the contract: a status is never dropped,
// observedGeneration never goes back, and startedAt and finishedAt never move. They belong on the root of the schema: on
// the status itself, a write of `status: null` would escape them. A field whose name is "-" gets no rule.
//
// With controller-gen, copy these markers above the type of the kind:
//
//	// +kubebuilder:validation:XValidation:rule="",message=""
//
// The rules compare with the stored object (oldSelf), so that they say nothing of a creation, and the API server does not
// ratchet them: restoring a backup over an existing object can be refused. Delete, then restore. Times are compared in
// whole seconds, because a rewrite of .123Z as Z is no change. That observedGeneration is not ahead of generation
// cannot be said in CEL: a rule does not see metadata.generation. Each field must be declared in the schema, with format
// date-time for the times.
func Rules(n Names) []Rule {
	rules := []Rule{{
		Rule:    "!has(oldSelf.status) || has(self.status)",
		Message: "status may not be dropped",
	}}
	add := func(name, rule, message string) {
		if name != absent {
			old, self := "oldSelf.status."+celName(name), "self.status."+celName(name)
			rules = append(rules, Rule{
				Rule: fmt.Sprintf("!has(oldSelf.status) || !has(self.status) || !has(%s) || (has(%s) && %s)", old, self,
					strings.NewReplacer("OLD", old, "SELF", self).Replace(rule)),
				Message: "status." + name + " " + message,
			})
		}
	}
	add(cmp.Or(n.ObservedGeneration, "observedGeneration"), "SELF >= OLD", "may not go back")
	add(cmp.Or(n.StartedAt, "startedAt"), "int(SELF) == int(OLD)", "may not change once set")
	add(cmp.Or(n.FinishedAt, "finishedAt"), "int(SELF) == int(OLD)", "may not change once set")
	return rules
}

// celName escapes a property as the API server does (k8s.io/apiserver/pkg/cel, escaping.go), or returns it as it is.
func celName(name string) string {
	switch name {
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
		"let", "loop", "package", "namespace", "return", "var", "void", "while":
		return "__" + name + "__"
	}
	return strings.NewReplacer("__", "__underscores__", "-", "__dash__", "/", "__slash__").Replace(name)
}
