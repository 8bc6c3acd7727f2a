// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
)

// AuditPolicy logs the requests of controllers and of the kubelet, and what
// controllers write into the status of runs.
//
//go:embed audit.yaml
var AuditPolicy string

// Requests returns the logged requests of a kind, in the order of their
// answers.
func (e *Example) Requests(t *testing.T, of func(controlplane.Request) bool) []controlplane.Request {
	t.Helper()
	all, err := e.ControlPlane.Requests()
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(r controlplane.Request) bool { return !of(r) })
}

// Jobs returns how often each Job of a namespace was created, and how many pods
// it had.
func (e *Example) Jobs(t *testing.T, namespace string) (created, pods map[string]int) {
	t.Helper()
	created, pods = map[string]int{}, map[string]int{}
	done := func(r controlplane.Request) bool { return r.For.Namespace == namespace && r.Done() }
	for _, r := range e.Requests(t, done) {
		switch r.Kind() {
		case "create jobs":
			created[r.For.Name]++
		case "create pods/binding":
			if i := strings.LastIndex(r.For.Name, "-"); i >= 0 { // the name of its Job and a suffix
				pods[r.For.Name[:i]]++
			}
		}
	}
	return created, pods
}

// Unused returns the rights of rules that no request made use of.
func Unused(rules []rbacv1.PolicyRule, requests []controlplane.Request) (rights []string) {
	used := map[rbac.Right]bool{}
	for _, r := range requests {
		use := func(verb string) {
			resource := strings.TrimSuffix(r.For.Resource+"/"+r.For.Subresource, "/")
			used[rbac.Right{Verb: verb, Group: r.For.APIGroup, Resource: resource}] = true
		}
		use(r.Verb)
		if r.Response.Code == http.StatusCreated { // an apply that creates asks for both
			use("create")
		}
		if r.Verb == "watch" { // clients list by it where the server can
			use("list")
		}
	}
	for _, right := range rbac.Rights(rules) {
		if !used[right] {
			rights = append(rights, right.Verb+" "+right.Resource+"."+right.Group)
		}
	}
	slices.Sort(rights)
	return rights
}
