// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rbacv1 "k8s.io/api/rbac/v1"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// notSeen are the rights of the role whose use no request of this suite shows.
var notSeen = []string{
	"create events.", // the core group is the fallback
	"patch events.",  // the same
	"update agentruns/finalizers.agents.controllerkit.dev", // an admission plugin asks for it
}

// TestEachVerbIsNeeded: with the documented role all steps happen, and they
// make use of each of its verbs.
func TestEachVerbIsNeeded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	doc, _, _ := bytes.Cut(rbac.YAML(), []byte("\n---\n"))
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(doc, &role))
	w := newWorld(t)
	w.grant(t)
	w.start(t, w.config)
	var playing sync.WaitGroup
	for _, s := range steps {
		playing.Go(func() { assert.NoError(t, w.play(ctx, s), s.name) })
	}
	playing.Wait()
	require.NoError(t, w.process.Stop()) // a watch is logged when it ends
	assert.Equal(t, notSeen, suite.Unused(role.Rules, w.requests(t)))
}
