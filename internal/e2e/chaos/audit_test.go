// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// auditPolicy logs each request of the controllers under test, with the body
// for Events.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: None
    users: [controlplane-admin, "system:kube-controller-manager", "system:apiserver"]
  - level: Request
    verbs: [create, patch, update]
    resources: [{group: events.k8s.io, resources: [events]}, {group: "", resources: [events]}]
  - level: Metadata
`

// request is a request of the audit log.
type request struct{ controlplane.Request }

func (r request) String() string {
	return fmt.Sprintf("%s %s %s/%s: %d", r.At.UTC().Format("15:04:05.000"), r.Kind(), r.For.Namespace, r.For.Name, r.Response.Code)
}

// requests returns a user's requests so far, in the order of their answers.
func requests(t *testing.T, user string) (of []request) {
	t.Helper()
	all, err := plane.Requests()
	require.NoError(t, err)
	for _, r := range all {
		if r.User.Username == user {
			of = append(of, request{r})
		}
	}
	return of
}

// writesSince returns a user's write requests, also failed ones, at or after a
// time. The API server uses the same clock.
func writesSince(t *testing.T, user string, since time.Time) []request {
	t.Helper()
	return slices.DeleteFunc(requests(t, user), func(r request) bool { return !r.Writes() || r.At.Time.Before(since) })
}

// perMinute is the default of events.Options.
const perMinute = 5

// assertEventCap compares the Events of each object with the cap, in every
// window of 60 seconds. The cap is per process, and starts has the start times
// of later processes. It returns the highest number of Events about one object
// in 60 seconds, over all processes.
func assertEventCap(t *testing.T, user string, starts ...time.Time) (written, most int) {
	t.Helper()
	about := map[string]types.UID{} // by the event's name
	times := map[types.UID][]time.Time{}
	for _, r := range requests(t, user) {
		if r.For.Resource != "events" || !r.Writes() || !r.Done() {
			continue
		}
		name := r.For.Name
		if r.Verb == "create" {
			var event struct {
				Metadata                  struct{ Name string }
				Regarding, InvolvedObject struct{ UID types.UID } // of events.k8s.io, and of the core group
			}
			require.NoError(t, json.Unmarshal(r.Body, &event))
			name = event.Metadata.Name
			about[name] = cmp.Or(event.Regarding.UID, event.InvolvedObject.UID)
		}
		times[about[name]] = append(times[about[name]], r.At.Time)
		written++
	}
	for uid, at := range times {
		slices.SortFunc(at, time.Time.Compare)
		for i := range at {
			first := slices.IndexFunc(at, func(other time.Time) bool { return at[i].Sub(other) < 60*time.Second })
			most = max(most, i+1-first)
			if i-first < perMinute {
				continue
			}
			among := slices.ContainsFunc(starts, func(s time.Time) bool { return s.After(at[i-perMinute]) && !s.After(at[i]) })
			assert.True(t, among, "more than %d events about %s within 60 s: %v", perMinute, uid, at)
		}
	}
	return written, most
}
