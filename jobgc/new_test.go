// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestNew_ReportsAllBadInput(t *testing.T) {
	var none *fakeStore
	_, err := jobgc.New[fakeJobs](nil, none, jobgc.Options{
		Finalizer: "result", Retention: jobgc.Retention{SucceededTTL: -time.Second},
	})
	require.EqualError(t, err, `jobgc: new: Options.Retention.SucceededTTL: -1s is not accepted; want 0 to keep, or a positive duration up to 68 years (596523h14m7s)
jobgc: new: Options.Finalizer: "result" is not accepted; want a domain and a name, such as agents.example.com/result
jobgc: new: client is nil; want a function that returns the Job client of a namespace
jobgc: new: cached is a nil *jobgc_test.fakeStore; want CachedBy or CachedIn, or nil to read live`)
}

func TestNew_TakesAFinalizerWithADomain(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "agents.example.com/result": true, "result": false, "example.com/": false, "/result": false, "a/b/c": false,
	} {
		_, err := jobgc.New(newServer().client, nil, jobgc.Options{Finalizer: name})
		require.Equal(t, ok, err == nil, "%s: %v", name, err)
	}
}

func TestGuard_NotMadeByNewIsAnError(t *testing.T) {
	var none *jobgc.Guard
	for _, g := range []*jobgc.Guard{none, {}} {
		_, _, err := g.Step(t.Context(), jobgc.Request{})
		require.EqualError(t, err, "jobgc: the Guard is nil or empty; make it with New")
		_, err = g.ReleaseOrphans(t.Context(), nil, nil)
		require.EqualError(t, err, "jobgc: release orphans: jobgc: the Guard is nil or empty; make it with New")
	}
}
