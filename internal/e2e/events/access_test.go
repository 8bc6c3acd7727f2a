// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
)

// user is an identity of this namespace, without any rights.
func (s *stage) user(t *testing.T, name string) *rest.Config {
	t.Helper()
	config, err := s.cp.User(s.namespace + ":" + name)
	require.NoError(t, err)
	return config
}

// grant gives the user verbs on Events of one API group in this namespace, and
// waits until they have effect.
func (s *stage) grant(t *testing.T, user, group string, verbs ...string) {
	t.Helper()
	s.bind(t, user, group, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"events"}, Verbs: verbs})
}

func (s *stage) bind(t *testing.T, user, id string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	require.NoError(t, rbac.Grant(t.Context(), s.kube, s.namespace, user+"."+id, s.namespace+":"+user, rules...))
}

// TestDocumentedPermissionsSuffice: with the rules of the documentation, and no
// other, all is written by the new group.
//
//req:shows E3
func TestDocumentedPermissionsSuffice(t *testing.T) {
	t.Parallel()
	s := newStage(t, plane)
	rules, err := rbac.Documented(filepath.Join("..", "..", "..", "events", "doc.go"))
	require.NoError(t, err)
	s.bind(t, "us", "documented", rules...)
	for _, right := range rbac.Rights(rules) {
		assert.Contains(t, []string{"create", "patch"}, right.Verb)
	}
	config := s.user(t, "us")
	for group, w := range map[string]way{"events.k8s.io": bothGroups, "": coreOnly} {
		r := record(t, config, w, events.Options{})
		for range 3 {
			failed(r.Recorder, s.reference("a"))
			r.flushed(t)
		}
		var sent []string
		for _, q := range r.wire.Sent() {
			if q.Code != 0 { // a request that was not answered in time is repeated
				sent = append(sent, fmt.Sprint(q.Method, " ", groupOf(q), " ", q.Code))
			}
		}
		assert.Equal(t, []string{"POST " + group + " 201", "PATCH " + group + " 200", "PATCH " + group + " 200"}, sent)
		r.assertAccounts(t, 3)
	}
}
