// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package jobgc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// A controller inspects every Job on every reconcile. An answer from the cache
// must not allocate.
func TestInspectAllocatesNothing(t *testing.T) {
	for name, tc := range looks(t) {
		t.Run(name, func(t *testing.T) {
			ctx, guard := t.Context(), tc.guard
			n := testing.AllocsPerRun(1000, func() {
				f, err := guard.Inspect(ctx, tc.ref)
				if err != nil || f.State != tc.want {
					t.Fatal(f, err)
				}
			})
			assert.Zero(t, n)
		})
	}
}

type look struct {
	guard *jobgc.Guard[fakeJobs]
	ref   jobgc.Ref
	want  jobgc.State
}

// looks are the cases that a store of client-go answers without a request.
func looks(tb testing.TB) map[string]look {
	tb.Helper()
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	job := ownedJob()
	job.Namespace, job.UID = "ns", "mine"
	require.NoError(tb, store.Replace([]any{job}, "100"))
	guard, err := jobgc.New(newServer().client, store, jobgc.Options{TrustCache: true})
	require.NoError(tb, err)
	ref := jobgc.Ref{Namespace: "ns", Name: "job", UID: "mine", ResourceVersion: "99"}
	out := map[string]look{"Cached": {guard, ref, jobgc.Active}}
	if _, ok := any(store).(interface{ LastStoreSyncResourceVersion() string }); ok {
		ref.Name = "gone"
		out["ProvenGone"] = look{guard, ref, jobgc.Missing}
		ref.Outcome = jobgc.Failed
		out["Collected"] = look{guard, ref, jobgc.Collected}
	}
	return out
}
