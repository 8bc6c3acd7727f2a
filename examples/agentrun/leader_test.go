// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/metrics"
)

// leases is an API server that has one lease.
type leases struct {
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
}

func (s *leases) answer(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, body := http.StatusOK, any(nil)
	refused := func(status int, reason metav1.StatusReason) {
		code = status
		body = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(status), Reason: reason}
	}
	switch r.Method {
	case http.MethodGet:
		if body = s.lease; s.lease == nil {
			refused(http.StatusNotFound, metav1.StatusReasonNotFound)
		}
	default:
		sent := new(coordinationv1.Lease)
		if err := json.NewDecoder(r.Body).Decode(sent); err != nil {
			return nil, err
		}
		if s.lease != nil && sent.ResourceVersion != s.lease.ResourceVersion {
			refused(http.StatusConflict, metav1.StatusReasonConflict)
			break
		}
		s.version++
		sent.ResourceVersion = strconv.Itoa(s.version)
		s.lease, body = sent, sent
	}
	text, err := json.Marshal(body)
	return &http.Response{
		StatusCode: code, Request: r, Body: io.NopCloser(bytes.NewReader(text)), Header: http.Header{"Content-Type": {"application/json"}},
	}, err
}

// connection is one replica's. After it is cut, one more write arrives, and is
// answered as late as it can be; nothing else is. If the replica is killed, not
// even that write arrives.
type connection struct {
	to          *leases
	cut, killed bool
	one         sync.Once
}

func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	c.to.mu.Lock()
	cut, killed := c.cut, c.killed
	c.to.mu.Unlock()
	if killed {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if !cut {
		return c.to.answer(r)
	}
	var answer *http.Response
	var err error
	late := time.Hour
	if r.Method == http.MethodPut {
		c.one.Do(func() {
			answer, err = c.to.answer(r)
			if until, limited := r.Context().Deadline(); limited {
				late = time.Until(until) - 10*time.Millisecond
			}
		})
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(late):
		return answer, err
	}
}

func newReplica(t *testing.T, c *connection, lease time.Duration) *election {
	t.Helper()
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	config := &rest.Config{Host: "http://127.0.0.1", Transport: c, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	e, err := newElection(config, m, options{leaseName: "agentrun", leaseNamespace: "ns", leaseDuration: lease})
	require.NoError(t, err)
	return e
}

// TestALeaderStopsBeforeTheNextBegins: whatever the moment at which it is cut
// off.
func TestALeaderStopsBeforeTheNextBegins(t *testing.T) {
	const lease = 15 * time.Second
	for after := 10 * time.Second; after < 12*time.Second; after += 250 * time.Millisecond {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
				defer stop()
				server := new(leases)
				line := &connection{to: server}
				var ended, began time.Time
				var lost error
				var both sync.WaitGroup
				both.Go(func() {
					lost = newReplica(t, line, lease).lead(ctx, func(leading, holding context.Context) {
						<-holding.Done()
						<-leading.Done()
						ended = time.Now()
					})
				})
				time.Sleep(after)
				both.Go(func() {
					assert.NoError(t, newReplica(t, &connection{to: server}, lease).lead(ctx, func(context.Context, context.Context) {
						began = time.Now()
					}))
				})
				server.mu.Lock()
				line.cut = true
				server.mu.Unlock()
				both.Wait()
				require.ErrorIs(t, lost, errDeposed)
				assert.True(t, ended.Before(began), "the old leader worked on for %s", ended.Sub(began))
			})
		})
	}
}

// TestALeaseThatIsLostWhileItStops: what still runs must end before another
// replica begins.
func TestALeaseThatIsLostWhileItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		server := new(leases)
		line := &connection{to: server}
		cut, ended := time.Now().Add(20*time.Second), time.Time{}
		time.AfterFunc(20*time.Second, func() {
			server.mu.Lock()
			defer server.mu.Unlock()
			line.cut = true
		})
		time.AfterFunc(29*time.Second, stop)
		err := newReplica(t, line, 15*time.Second).lead(ctx, func(leading, holding context.Context) {
			<-leading.Done()
			<-holding.Done()
			ended = time.Now()
		})
		require.ErrorIs(t, err, errDeposed)
		assert.Less(t, ended.Sub(cut), 15*time.Second)
	})
}

// TestTheLeaseIsGivenBackWhenTheWorkHasEnded: and not before, and the next
// leader need not wait for its end.
func TestTheLeaseIsGivenBackWhenTheWorkHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := new(leases)
		limited, end := context.WithTimeout(t.Context(), 5*time.Minute)
		defer end()
		ctx, stop := context.WithCancel(limited)
		var ended, began time.Time
		var both sync.WaitGroup
		both.Go(func() {
			assert.NoError(t, newReplica(t, &connection{to: server}, time.Minute).lead(ctx, func(ctx, _ context.Context) {
				<-ctx.Done()
				time.Sleep(5 * time.Second)
				ended = time.Now()
			}))
		})
		time.Sleep(10 * time.Second)
		both.Go(func() {
			assert.NoError(t, newReplica(t, &connection{to: server}, time.Minute).lead(limited, func(context.Context, context.Context) { began = time.Now() }))
		})
		time.Sleep(10 * time.Second)
		stop()
		both.Wait()
		assert.True(t, ended.Before(began))
		assert.Less(t, began.Sub(ended), 30*time.Second)
	})
}

// TestTakeover_IsBounded: in every phase and with every jitter of its pauses,
// the standby leads within 2 seconds of a release, and within the lease and 3
// seconds of a kill. The clock is virtual, so
// the bound does not depend on the machine. internal/e2e/replicas measures two
// processes.
func TestTakeover_IsBounded(t *testing.T) {
	for _, lease := range []time.Duration{3 * time.Second, 15 * time.Second, time.Minute} {
		t.Run(lease.String(), func(t *testing.T) {
			var released, killed time.Duration
			for phase := range 40 {
				after := lease + time.Duration(phase)*70*time.Millisecond
				released = max(released, takeover(t, lease, after, false))
				killed = max(killed, takeover(t, lease, after, true))
			}
			t.Logf("of 40 each, the longest: %s after a release, %s after a kill", released, killed)
			assert.LessOrEqual(t, released, 2*time.Second)
			assert.LessOrEqual(t, killed, lease+3*time.Second)
		})
	}
}

// TestLock_SkipsRenewalsThatComeTooSoon: a standby that asks often must not
// make the leader write as often.
func TestLock_SkipsRenewalsThatComeTooSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := new(leases)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, newReplica(t, &connection{to: server}, 15*time.Second).lead(ctx, func(ctx, _ context.Context) { <-ctx.Done() }))
		assert.InDelta(t, 37, server.version, 7, "one write in 1.5 to 2 seconds, and those of the beginning and the release")
		assert.Empty(t, *server.lease.Spec.HolderIdentity)
	})
}

// takeover stops or kills a leader after some time and returns how long its
// standby then takes to lead.
func takeover(t *testing.T, lease, after time.Duration, kill bool) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		limited, end := context.WithTimeout(t.Context(), 10*time.Minute)
		defer end()
		ctx, stop := context.WithCancel(limited)
		defer stop()
		server := new(leases)
		line := &connection{to: server}
		var ended, began time.Time
		var both sync.WaitGroup
		both.Go(func() {
			err := newReplica(t, line, lease).lead(ctx, func(ctx, _ context.Context) {
				<-ctx.Done()
				if !kill {
					ended = time.Now()
				}
			})
			assert.Equal(t, kill, err != nil, "%v", err)
		})
		time.Sleep(100 * time.Millisecond)
		both.Go(func() {
			assert.NoError(t, newReplica(t, &connection{to: server}, lease).lead(limited, func(context.Context, context.Context) { began = time.Now() }))
		})
		time.Sleep(after)
		if kill {
			server.mu.Lock()
			line.killed, ended = true, time.Now()
			server.mu.Unlock()
		} else {
			stop()
		}
		both.Wait()
		took = began.Sub(ended)
	})
	return took
}

// slow stores a write immediately and answers it after a second.
type slow struct{ to *leases }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.to.answer(r)
	if r.Method != http.MethodGet {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(time.Second):
		}
	}
	return answer, err
}

// TestStoppedWhileItTakesTheLease: the lease is stored although no answer came.
func TestStoppedWhileItTakesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := new(leases)
		m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
		require.NoError(t, err)
		config := &rest.Config{Host: "http://127.0.0.1", Transport: slow{server}, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
		e, err := newElection(config, m, options{leaseName: "agentrun", leaseNamespace: "ns", leaseDuration: time.Minute})
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer stop()
		require.NoError(t, e.lead(ctx, func(context.Context, context.Context) { t.Error("it does not lead") }))
		ended := time.Now()
		limited, end := context.WithTimeout(t.Context(), 3*time.Minute)
		defer end()
		var began time.Time
		var both sync.WaitGroup
		both.Go(func() {
			assert.NoError(t, newReplica(t, &connection{to: server}, time.Minute).lead(limited, func(context.Context, context.Context) { began = time.Now() }))
		})
		both.Wait()
		assert.Less(t, began.Sub(ended), 3*time.Second, "the lease is given back")
	})
}
