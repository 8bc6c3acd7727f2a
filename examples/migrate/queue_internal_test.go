// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"
)

// TestQueue_IsMeasuredAndServed: a key fails once and then succeeds.
func TestQueue_IsMeasuredAndServed(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config := new(rest.Config)
	var page string
	err = queueAfter(t.Context(), config, listener, func(ctx context.Context, w *worker) error {
		failures := []error{errors.New("away"), nil}
		w.reconcile = func(context.Context, string) error {
			err := failures[0]
			failures = failures[1:]
			return err
		}
		w.queue.Add("ci/run-1")
		assert.True(t, w.next(ctx))
		assert.True(t, w.next(ctx), "the key comes again")
		page = body(t, "http://"+listener.Addr().String()+"/metrics")
		w.queue.ShutDown()
		assert.False(t, w.next(ctx))
		return nil
	})
	require.NoError(t, err)
	assert.NotNil(t, config.WrapTransport, "requests are measured")
	for _, line := range []string{
		`controller_reconciles_total{controller="sample",result="error"} 1`,
		`controller_reconciles_total{controller="sample",result="success"} 1`,
		`controller_queue_depth{controller="sample"} 0`,
	} {
		assert.Contains(t, page, "\n"+line+"\n")
	}
}

// TestQueue_WorksAsBefore, without metrics.
func TestQueue_WorksAsBefore(t *testing.T) {
	w := queueBefore()
	w.reconcile = func(context.Context, string) error { return nil }
	w.queue.Add("ci/run-1")
	assert.True(t, w.next(t.Context()))
	assert.Zero(t, w.queue.Len())
}

func body(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}
