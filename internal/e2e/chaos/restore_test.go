// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestEtcdIsRestored from a copy, under load, with a higher revision, as etcd's
// manual demands. Then the controller is started again, as the troubleshooting
// guide demands. Runs that were created after the copy are gone. No other test
// runs in that time.
func TestEtcdIsRestored(t *testing.T) {
	ctx, w := steady(t)
	data := filepath.Join(plane.Dir(), "etcd")
	saved := data + "-saved"
	w.during(ctx, t, 14, 100*time.Millisecond, func() {
		suite.Wait(ctx, 700*time.Millisecond)
		require.NoError(t, plane.Etcd.Kill())
		require.NoError(t, os.CopyFS(saved, os.DirFS(data)))
		require.NoError(t, plane.Etcd.Start(ctx))
	})
	require.NoError(t, w.load(ctx, 15, 20, 100*time.Millisecond)) // the copy lacks these
	suite.Wait(ctx, time.Second)
	assert.Empty(t, w.recorder.Breaches())

	require.NoError(t, plane.APIServer.Kill())
	newest := etcd(ctx, t, "range", `{"key": "YQ=="}`)
	require.NoError(t, plane.Etcd.Kill())
	require.NoError(t, os.RemoveAll(data))
	require.NoError(t, os.Rename(saved, data))
	require.NoError(t, plane.Etcd.Start(ctx))
	raise(ctx, t, newest)
	require.NoError(t, plane.APIServer.Start(ctx))
	require.NoError(t, plane.Ready(ctx))
	w.recorder = suite.Record(t, w.Stage, firstSecret, secondSecret)
	w.wasKilled = true
	require.NoError(t, w.process.Kill())
	w.start(t, w.config)
	w.before = w.read(t)

	require.NoError(t, w.load(ctx, 21, 32, 100*time.Millisecond))
	list, err := w.Runs.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	n := len(list.Items)
	assert.Less(t, n, 33, "the runs from after the copy are gone")
	w.holds(ctx, t, n)
}

// raise writes until the store has more revisions than before, and compacts
// them: each client lists again.
func raise(ctx context.Context, t *testing.T, before int) {
	t.Helper()
	now := etcd(ctx, t, "range", `{"key": "YQ=="}`)
	require.Less(t, now, before, "the store is from before")
	for now <= before {
		now = etcd(ctx, t, "put", `{"key": "YQ==", "value": "YQ=="}`)
	}
	etcd(ctx, t, "compaction", fmt.Sprintf(`{"revision": %d}`, now))
}

// etcd makes a request to the JSON gateway of etcd. It returns the revision of
// the store.
func etcd(ctx context.Context, t *testing.T, what, body string) (revision int) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(plane.Dir(), "etcd.sock"))
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/kv/"+what, strings.NewReader(body))
	require.NoError(t, err)
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Header struct {
			Revision int `json:",string"`
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.NotZero(t, answer.Header.Revision, response.Status)
	return answer.Header.Revision
}
