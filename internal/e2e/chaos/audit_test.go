// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// request is a request that the API server answered.
type request struct {
	Verb string
	User struct{ Username string }
	At   metav1.MicroTime `json:"requestReceivedTimestamp"`
	For  struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	Response struct{ Code int } `json:"responseStatus"`
	Body     struct {
		Metadata       struct{ Name string }
		Regarding      struct{ UID types.UID }
		InvolvedObject struct{ UID types.UID } // of the core group
	} `json:"requestObject"`
}

func (r request) writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

func (r request) done() bool { return r.Response.Code < 300 }

func (r request) String() string {
	return fmt.Sprintf("%s %s %s/%s %s/%s: %d", r.At.UTC().Format("15:04:05.000"), r.Verb, r.For.Resource, r.For.Subresource, r.For.Namespace, r.For.Name, r.Response.Code)
}

// requests returns a user's requests so far, in the order of their answers.
func requests(t *testing.T, user string) (all []request) {
	t.Helper()
	body, err := os.ReadFile(plane.AuditLog())
	require.NoError(t, err)
	for line := range bytes.Lines(body) {
		var r request
		// The last line may be incomplete, and so may be the last line before
		// the API server was killed.
		if json.Unmarshal(line, &r) == nil && r.User.Username == user {
			all = append(all, r)
		}
	}
	return all
}

// writesSince returns a user's write requests, also failed ones, at or after a
// time. The API server uses the same clock.
func writesSince(t *testing.T, user string, since time.Time) []request {
	t.Helper()
	return slices.DeleteFunc(requests(t, user), func(r request) bool { return !r.writes() || r.At.Time.Before(since) })
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
		if r.For.Resource != "events" || !r.writes() || !r.done() {
			continue
		}
		name := r.For.Name
		if r.Verb == "create" {
			name = r.Body.Metadata.Name
			about[name] = cmp.Or(r.Body.Regarding.UID, r.Body.InvolvedObject.UID)
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
