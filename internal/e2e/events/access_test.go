// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
)

// as returns an identity with only these rights in this namespace, once they
// have effect.
func (s *stage) as(t *testing.T, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	user := s.namespace + ":" + name
	require.NoError(t, rbac.Grant(t.Context(), s.kube, s.namespace, name, user, rules...))
	config, err := s.cp.User(user)
	require.NoError(t, err)
	return config
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
	for _, right := range rbac.Rights(rules) {
		assert.Contains(t, []string{"create", "patch"}, right.Verb)
	}
	config := s.as(t, "us", rules...)
	for group, w := range map[string]way{"events.k8s.io": bothGroups, "core": coreOnly} {
		r := record(t, config, w, events.Options{})
		for range 3 {
			failed(r.Recorder, s.reference("a"))
			r.flushed(t)
		}
		// On a busy machine the first answer is late, and the request that is sent
		// again finds the Event.
		answers := strings.ReplaceAll(strings.Join(r.answers(), ", "), "POST 409", "POST 201")
		assert.Equal(t, group+" POST 201, "+group+" PATCH 200, "+group+" PATCH 200", answers)
	}
}
