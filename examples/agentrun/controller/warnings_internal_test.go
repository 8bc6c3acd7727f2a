// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/metrics"
)

// warner answers each request with warnings of a webhook.
type warner []string

func (w warner) RoundTrip(r *http.Request) (*http.Response, error) {
	missing := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotFound}
	answer, err := reply(r, http.StatusNotFound, missing)
	for _, text := range w {
		answer.Header.Add("Warning", "299 - "+strconv.Quote(text))
	}
	return answer, err
}

// TestNew_MasksWarnings: the warnings of a webhook quote a credential in a
// known format, and the value of a run's Secret in none.
func TestNew_MasksWarnings(t *testing.T) {
	const credential, value = "hV7kQ2mZx9Lp4TbW", "correct horse battery"
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	const usual = "batch/v1beta1 CronJob is deprecated in v1.21+; use batch/v1 CronJob"
	hostile := warner{"env DB_PASSWORD=" + credential + " is in plain text", "label " + value + " is not allowed", usual}
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: hostile, QPS: -1}, m, Options{})
	require.NoError(t, err)
	defer c.secrets.Pin([]byte(value))()
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))

	_, err = c.cluster.BatchV1().Jobs("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.Error(t, err)
	_, err = c.runs("default").Get(ctx, "nightly", metav1.GetOptions{})
	require.Error(t, err)

	log := strings.Join(lines, "\n")
	assert.NotContains(t, log, credential)
	assert.NotContains(t, log, value)
	assert.Equal(t, 2, strings.Count(log, usual), log)
	assert.Equal(t, 4, strings.Count(log, "[redacted]"), log)
}
