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

// The server fails while fifty distinct events are recorded, twice each. Each
// is stored once and counts both, and there are at most as many concurrent
// requests as workers.
func TestFaults_LoseNoEvent(t *testing.T) {
	cases := map[string]struct {
		reason string
		length time.Duration
		answer func(*http.Request) (*http.Response, error)
	}{
		"429":           {"Priority and fairness refuses without Retry-After as well.", 2 * time.Second, refusing(429, "TooManyRequests", "", nil)},
		"429RetryAfter": {"The server says when.", 30 * time.Second, refusing(429, "TooManyRequests", `"retryAfterSeconds":1`, http.Header{"Retry-After": {"1"}})},
		"500":           {"An aggregated or webhook failure.", 30 * time.Second, refusing(500, "InternalError", "", nil)},
		"503":           {"A rolling restart of the API server.", 30 * time.Second, refusing(503, "ServiceUnavailable", "", nil)},
		"502FromAProxy": {"A load balancer answers no Status.", 30 * time.Second, badGateway},
		"504":           {"The write may have been stored.", 30 * time.Second, refusing(504, "Timeout", "", nil)},
		"401":           {"A token that has expired is rotated soon.", 30 * time.Second, refusing(401, "Unauthorized", "", nil)},
		"Refused":       {"The server does not listen.", 30 * time.Second, breaking(errors.New("dial tcp 10.96.0.1:443: connect: connection refused"))},
		"Reset":         {"The connection breaks after the request.", 30 * time.Second, breaking(io.ErrUnexpectedEOF)},
		"Hangs":         {"No answer at all.", 30 * time.Second, hang},
		"Slow":          {"Each answer takes its time.", time.Hour, slowPass},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := faultyFor(tc.length, tc.answer)
				rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{})
				require.NoError(t, err)
				stop := run(t, rec)
				for range 2 {
					for _, o := range objects(50) {
						rec.Failure(o, errAway)
					}
				}
				require.NoError(t, rec.Flush(t.Context()))
				require.NoError(t, stop(), tc.reason)
				assert.Len(t, w.stored, 50, tc.reason)
				for path, ev := range w.stored {
					series, _ := ev["series"].(map[string]any)
					assert.InDelta(t, 2, series["count"], 0, path)
				}
				assert.Equal(t, int64(100), rec.Stats().Recorded)
				assertAccounts(t, rec)
				assert.LessOrEqual(t, w.most, 2)
				assert.Less(t, w.requests, 50+150, "the workers pause")
			})
		})
	}
}

// faultyFor answers so at first, and then passes each request.
func faultyFor(length time.Duration, answer func(*http.Request) (*http.Response, error)) *wire {
	began := time.Now()
	return &wire{answer: func(req *http.Request) (*http.Response, error) {
		if time.Since(began) < length {
			return answer(req)
		}
		return nil, errPass
	}}
}

func refusing(code int, reason, details string, header http.Header) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return status(code, reason, details, header), nil }
}

func breaking(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func badGateway(*http.Request) (*http.Response, error) {
	return respond(http.StatusBadGateway, []byte("<html>no</html>"), http.Header{"Content-Type": {"text/html"}}), nil
}

func hang(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func slowPass(*http.Request) (*http.Response, error) {
	time.Sleep(50 * time.Millisecond)
	return nil, errPass
}

// 30 s of 503 within 60 s at 10 a second.
func TestOutage_InTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := &wire{answer: func(*http.Request) (*http.Response, error) {
			if d := time.Since(began); d > 15*time.Second && d < 45*time.Second {
				return status(503, "ServiceUnavailable", "", nil), nil
			}
			return nil, errPass
		}}
		rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{})
		require.NoError(t, err)
		stop := run(t, rec)
		for _, o := range objects(600) {
			rec.Failure(o, errAway)
			time.Sleep(100 * time.Millisecond)
		}
		require.NoError(t, rec.Flush(t.Context()))
		require.NoError(t, stop())
		assert.Len(t, w.stored, 600)
	})
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

// TestIsolation_OverHTTP: an hour of namespaces whose requests fail. Healthy
// objects fail for the first time in it, one a minute.
//
//req:shows E6
func TestIsolation_OverHTTP(t *testing.T) {
	denied := status(http.StatusForbidden, "Forbidden", `"kind":"events"`, nil)
	body, err := io.ReadAll(denied.Body)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		reason     string
		namespaces int
		answer     func(req *http.Request) (*http.Response, error)
		latest     time.Duration
		most       int // requests in the hour
	}{
		"AThousandRefused": {
			"Each is asked again after pauses that double, and at the start they share 20 requests a second.", 1000,
			func(*http.Request) (*http.Response, error) {
				return respond(http.StatusForbidden, body, nil), nil
			},
			2 * time.Second, 1000*2*11 + 120,
		},
		"FiveHang": {
			"They have half of the workers, and one request each, for five seconds.", 5,
			func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			},
			2 * time.Second, 5*120 + 120,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{}
				w.answer = func(req *http.Request) (*http.Response, error) {
					if strings.Contains(req.URL.Path, "/namespaces/bad-") {
						return tc.answer(req)
					}
					return nil, errPass
				}
				rec, err := events.New(sinkOf(t, "http://api", &http.Client{Transport: w}), controller, events.Options{})
				require.NoError(t, err)
				stop := run(t, rec)
				for i := range tc.namespaces {
					rec.Failure(inNamespace("bad-"+strconv.Itoa(i), "a"), errAway)
				}
				time.Sleep(2 * time.Minute)
				for i := range 58 {
					rec.Failure(inNamespace("good", "run-"+strconv.Itoa(i)), errAway)
					time.Sleep(tc.latest)
					w.mu.Lock()
					stored := len(w.stored)
					w.mu.Unlock()
					require.Equal(t, i+1, stored, tc.reason)
					time.Sleep(time.Minute - tc.latest)
				}
				w.mu.Lock()
				assert.LessOrEqual(t, w.requests, tc.most, tc.reason)
				w.mu.Unlock()
				assert.Empty(t, rec.Stats().Lost, "nothing is given up")
				require.Empty(t, events.Unbalanced(rec))
				_ = stop()
				assertAccounts(t, rec)
			})
		})
	}
}
