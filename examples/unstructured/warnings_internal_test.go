// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestNewClients_EndADeadWatch: an informer begins the next watch where the
// last one ended.
func TestNewClients_EndADeadWatch(t *testing.T) {
	c, err := newClients(&rest.Config{Host: "http://127.0.0.1"})
	require.NoError(t, err)
	jobs, ok := c.cluster.BatchV1().RESTClient().(*rest.RESTClient)
	require.True(t, ok)
	assert.Equal(t, watchTimeout, jobs.Client.Timeout)
}

// TestNewClients_MaskWarnings: each answer has warnings of a webhook
// that quotes credentials, and a usual one.
func TestNewClients_MaskWarnings(t *testing.T) {
	const credential = "hV7kQ2mZx9Lp4TbW"
	hostile := []string{
		"env DB_PASSWORD=" + credential + " is in plain text",
		"the URL postgres://app:" + credential + "@db.example.com/app is deprecated",
		"header Authorization: Bearer " + credential + " is not allowed",
		`annotation {"apiKey":"` + credential + `"} is ignored`,
		"args [redis-cli -a " + credential + "] are deprecated",
		"statement ALTER USER app IDENTIFIED BY '" + credential + "' is deprecated",
		"unknown field in " + strings.Repeat("x ", 100) + "token=" + credential,
	}
	const usual = "batch/v1beta1 CronJob is deprecated in v1.21+; use batch/v1 CronJob"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, text := range hostile {
			w.Header().Add("Warning", "299 - "+strconv.Quote(text))
		}
		first, second := strconv.Quote(hostile[0]), strconv.Quote(usual)
		w.Header().Add("Warning", "299 webhook "+first+", 299 - "+second) // two in one header
		w.Header().Add("Warning", "299 - "+first[:len(first)-1])          // malformed
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}`))
	}))
	defer server.Close()
	var mu sync.Mutex
	var lines []string
	logger := funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{})
	ctx := logr.NewContext(t.Context(), logger)

	c, err := newClients(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	backups := schema.GroupVersionResource{Group: "backups.example.org", Version: "v1", Resource: "backups"}
	_, err = c.dynamic.Resource(backups).Namespace("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.Error(t, err)
	_, err = c.cluster.BatchV1().Jobs("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.Error(t, err)
	_, err = c.events.EventsV1().Events("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.Error(t, err)

	log := strings.Join(lines, "\n")
	assert.NotContains(t, log, credential)
	assert.Equal(t, 3, strings.Count(log, usual), log)
	assert.Equal(t, 3*(len(hostile)+1), strings.Count(log, "[redacted]"), log)
}
