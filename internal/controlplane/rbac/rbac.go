// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac takes the rules that a package comment documents, and grants
// rules to a user, so that tests run under them and no others.
package rbac

import (
	"fmt"
	"go/parser"
	"go/token"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"sigs.k8s.io/yaml"
)

// Right is one verb on one resource, or on a subresource ("jobs/status").
type Right struct{ Verb, Group, Resource string }

// Rights returns each right that rules grant.
func Rights(rules []rbacv1.PolicyRule) (all []Right) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, Right{verb, group, resource})
				}
			}
		}
	}
	return all
}

// Documented returns the rules in the code block of the section RBAC of the
// package comment in file. It returns an error if the section is missing or the
// block does not have the rules of a Role.
func Documented(file string) ([]rbacv1.PolicyRule, error) {
	const mode = parser.ParseComments | parser.PackageClauseOnly
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, mode)
	if err != nil {
		return nil, fmt.Errorf("rbac: %w", err)
	}
	_, section, _ := strings.Cut(parsed.Doc.Text(), "\n# RBAC\n")
	section, _, _ = strings.Cut(section, "\n# ")
	var block strings.Builder
	for line := range strings.Lines(section) {
		if code, ok := strings.CutPrefix(line, "\t"); ok {
			block.WriteString(code)
		}
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(block.String()), &role); err != nil {
		return nil, fmt.Errorf("rbac: %s: %w", file, err)
	}
	if len(role.Rules) == 0 {
		return nil, fmt.Errorf("rbac: %s: no rules under the heading RBAC of its package comment", file)
	}
	return role.Rules, nil
}
