// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/proompteng/controllerkit/events"
)

// wire is an API server for Events behind client-go's typed clients: a
// transport in memory, since a socket would hang in a bubble of synctest.
// answer may refuse a request; errPass lets it through.
type wire struct {
	answer func(*http.Request) (*http.Response, error)

	mu       sync.Mutex
	stored   map[string]map[string]any // by path
	requests int
	inFlight int
	most     int
}

var errPass = errors.New("not refused")

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GetConn != nil { // as net/http does
		trace.GetConn("api:443")
		defer trace.GotFirstResponseByte()
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.requests++
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.inFlight--
		w.mu.Unlock()
	}()
	if w.answer != nil {
		if resp, err := w.answer(req); !errors.Is(err, errPass) {
			return resp, err
		}
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stored == nil {
		w.stored = map[string]map[string]any{}
	}
	path := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/apis/events.k8s.io/v1"), "/api/v1")
	switch req.Method {
	case http.MethodPost:
		meta, _ := object["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		path += "/" + name
		if w.stored[path] != nil {
			return status(http.StatusConflict, "AlreadyExists", `"name":"`+name+`","kind":"events"`, nil), nil
		}
		w.stored[path] = object
		return respond(http.StatusCreated, body, nil), nil
	case http.MethodPatch:
		if w.stored[path] == nil {
			return status(http.StatusNotFound, "NotFound", `"name":"x","kind":"events"`, nil), nil
		}
		maps.Copy(w.stored[path], object)
		merged, err := json.Marshal(w.stored[path])
		return respond(http.StatusOK, merged, nil), err
	}
	return status(http.StatusMethodNotAllowed, "MethodNotAllowed", "", nil), nil
}

func respond(code int, body []byte, header http.Header) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	maps.Copy(h, header)
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(bytes.NewReader(body))}
}

// status is an error as the API server answers it.
func status(code int, reason, details string, header http.Header) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","code":` + strconv.Itoa(code) + `,"details":{` + details + `}}`
	return respond(code, []byte(body), header)
}

func sinkOf(tb testing.TB, host string, client *http.Client) *events.Sink {
	tb.Helper()
	cfg := &rest.Config{Host: host, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, RateLimiter: flowcontrol.NewFakeAlwaysRateLimiter()}
	newGroup, err := eventsv1client.NewForConfigAndClient(cfg, client)
	require.NoError(tb, err)
	core, err := corev1client.NewForConfigAndClient(cfg, client)
	require.NoError(tb, err)
	return events.NewSink(newGroup.Events, core.Events)
}

// What was stored by an attempt whose answer was lost is not stored again under
// another name.
func TestLostAnswer_MakesNoSecondEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		lose := true
		w.answer = func(req *http.Request) (*http.Response, error) {
			if !lose {
				return nil, errPass
			}
			lose = false
			w.mu.Lock()
			w.inFlight-- // of the inner call
			w.mu.Unlock()
			if _, err := w.RoundTrip(req.Clone(req.Context())); err != nil {
				return nil, err
			}
			return nil, io.ErrUnexpectedEOF
		}
		rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{})
		require.NoError(t, err)
		stop := run(t, rec)
		rec.Failure(object("a"), errAway)
		require.NoError(t, rec.Flush(t.Context()))
		require.NoError(t, stop())
		assert.Len(t, w.stored, 1)
		st := rec.Stats()
		assert.Equal(t, [...]int64{1, 1}, [...]int64{st.Written, st.Retried})
	})
}

// Nor when it was the caller who did not wait for the answer.
func TestFlush_ThatEndsTooSoonMakesNoSecondEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(ctx context.Context, _ request) error {
			select {
			case <-ctx.Done():
				return storedError{ctx.Err()}
			case <-time.After(time.Second):
				return nil
			}
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Failure(object("a"), errAway)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, rec.Flush(ctx), context.DeadlineExceeded)
		began := time.Now()
		require.NoError(t, rec.Flush(t.Context()))
		assert.Equal(t, time.Second, time.Since(began), "no pause: it was not the server's fault")
		assert.Len(t, s.all(), 1)
	})
}

func TestFlush_ThatEndsWithTheAnswerHasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(ctx context.Context, _ request) error {
			<-ctx.Done()
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Failure(object("a"), errAway)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.NoError(t, rec.Flush(ctx))
		assert.Len(t, s.all(), 1)
		assert.Equal(t, int64(1), rec.Stats().Written)
	})
}

// Once over a real socket.
func TestOverHTTP(t *testing.T) {
	w := &wire{}
	var once sync.Once
	w.answer = func(*http.Request) (resp *http.Response, err error) {
		err = errPass
		once.Do(func() { resp, err = status(503, "ServiceUnavailable", "", nil), nil })
		return resp, err
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		resp, err := w.RoundTrip(req)
		if !assert.NoError(t, err) {
			return
		}
		defer resp.Body.Close()
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(resp.StatusCode)
		_, err = io.Copy(out, resp.Body)
		assert.NoError(t, err)
	}))
	defer server.Close()
	rec, err := events.New(sinkOf(t, server.URL, server.Client()), controller, events.Options{WritesPerMinute: 10})
	require.NoError(t, err)
	stop := run(t, rec)
	for range 3 {
		for _, o := range objects(20) {
			rec.Failure(o, errAway)
		}
		require.NoError(t, rec.Flush(t.Context()))
	}
	require.NoError(t, stop())
	require.Len(t, w.stored, 20)
	for path, ev := range w.stored {
		assert.Regexp(t, `^/namespaces/runs/events/run-\d+\.[0-9a-f]{16}$`, path)
		assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`, ev["eventTime"], "six digits of a second, as the API server demands")
		series, _ := ev["series"].(map[string]any)
		assert.InDelta(t, 3, series["count"], 0)
	}
}
