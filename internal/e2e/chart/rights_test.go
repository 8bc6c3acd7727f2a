// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// finalizers is a right that no request shows: the API server asks for it
// itself when a Job names an owner that it blocks.
const finalizers = "update agents.controllerkit.dev/agentruns/finalizers"

// assertEveryRightIsUsed compares the rights in the release's roles with the
// requests of the account in the audit log. The API server refused none, and
// each right was used. Three rights need a separate story. The core group of
// events is used where the new group is not granted. A list fills a cache where
// the API server does not stream it; client-go has a switch for that. Without
// the finalizers right the controller cannot make a Job.
func assertEveryRightIsUsed(t *testing.T, stage *play.Stage, all objects, user string, start func(name string, env ...string) *rig.Process) {
	t.Helper()
	roles := stage.Kube.RbacV1().Roles(stage.Namespace)
	const name = "agents:r-agentrun-controllers"
	role, err := roles.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	granted := map[string]bool{}
	rules := slices.Concat(role.Rules, into[rbacv1.Role](t, all.one(t, "Role/r-agentrun-controllers-leader-election")).Rules)
	for _, r := range rbac.Rights(rules) {
		granted[r.Verb+" "+r.Group+"/"+r.Resource] = true
	}

	change := func(change func(*rbacv1.PolicyRule)) {
		role, err := roles.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		for i := range role.Rules {
			change(&role.Rules[i])
		}
		_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	used, refused := requests(t, user)
	assert.Empty(t, refused, "the account was refused something")

	change(func(r *rbacv1.PolicyRule) {
		r.APIGroups = slices.DeleteFunc(r.APIGroups, func(g string) bool { return g == "events.k8s.io" })
	})
	p := start("fallbacks", "KUBE_FEATURE_WatchListClient=false")
	failing := create(t, stage, "core-events", needsASecret)
	eventually(t, "events are written in the core group, and their series", func(context.Context) (bool, error) {
		more, _ := requests(t, user)
		maps.Copy(used, more)
		return used["create /events"] && used["patch /events"], nil
	})
	require.NoError(t, stage.Runs.Delete(t.Context(), failing, metav1.DeleteOptions{}))

	change(func(r *rbacv1.PolicyRule) {
		r.Resources = slices.DeleteFunc(r.Resources, func(r string) bool { return r == "agentruns/finalizers" })
		if len(r.Resources) == 0 {
			r.Resources = []string{"none"}
		}
	})
	eventually(t, "the right is gone", func(ctx context.Context) (bool, error) {
		may, err := rbac.May(ctx, stage.Kube, stage.Namespace, user, "update", "agentruns/finalizers", "agents.controllerkit.dev")
		return !may, err
	})
	run := create(t, stage, "no-finalizers", nil)
	eventually(t, "without the finalizers the Job is refused", func(ctx context.Context) (bool, error) {
		run, err := stage.Runs.Get(ctx, run, metav1.GetOptions{})
		return err == nil && run.Status.Reason == "Forbidden", err
	})
	used[finalizers] = true
	require.NoError(t, p.Stop())

	for right := range granted {
		assert.True(t, used[right], "granted, and used by nothing: %s", right)
	}
	for right := range used {
		assert.True(t, granted[right], "used, and not granted by the chart: %s", right)
	}
}

// requests are what a user did, and what of it was refused for want of a right.
func requests(t *testing.T, user string) (used, refused map[string]bool) {
	t.Helper()
	used, refused = map[string]bool{}, map[string]bool{}
	all, err := cluster.Requests()
	require.NoError(t, err)
	for _, r := range all {
		if r.User.Username != user || r.For.Resource == "" {
			continue
		}
		right := r.Verb + " " + r.For.APIGroup + "/" + strings.TrimSuffix(r.For.Resource+"/"+r.For.Subresource, "/")
		if r.Response.Code == http.StatusForbidden {
			refused[right] = true
		} else {
			used[right] = true
		}
	}
	return used, refused
}
