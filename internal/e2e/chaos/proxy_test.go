// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// proxy is a proxy for the API server on the loopback interface. It speaks
// HTTP/2 and TLS like the API server, and acts for one user. It can cut
// watches, and answer instead of the API server.
type proxy struct {
	server *httptest.Server

	mu      sync.Mutex
	planned *fault // or nil
	pending map[*hand]struct{}
	faults  int            // percentage of failing requests
	says    string         // the message of the failures
	only    string         // a part of the paths that fail, always with a 500; "" for all paths
	counts  map[string]int // by kind
}

// newProxy starts a proxy for the world's controller until the test ends. It
// returns the configuration for the controller.
func newProxy(t *testing.T, w *world) (*proxy, *rest.Config) {
	t.Helper()
	transport, err := rest.TransportFor(w.config)
	require.NoError(t, err)
	target, err := url.Parse(w.config.Host)
	require.NoError(t, err)
	p := &proxy{pending: map[*hand]struct{}{}, counts: map[string]int{}}
	through := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // a watch must not wait for a full buffer
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(through, w, r) }))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = quiet()
	p.server.StartTLS()
	t.Cleanup(func() {
		p.cut()
		p.server.CloseClientConnections()
		p.server.Close()
	})
	config := &rest.Config{Host: p.server.URL}
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return p, config
}

// hand is a request whose answer the proxy has not finished.
type hand struct {
	kind   string
	since  time.Time
	read   bool               // the body was read, and passed on unless the request fails
	cancel context.CancelFunc // of a watch
}

// behindProxy makes a world with a ready controller that reaches the API server
// only through a proxy.
func behindProxy(t *testing.T) (context.Context, *world, *proxy) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	w := newWorld(t)
	w.grant(t, role)
	between, config := newProxy(t, w)
	w.start(t, config)
	t.Cleanup(func() { // before the controller is killed
		if t.Failed() {
			t.Logf("the proxy has in hand: %q", between.inHand())
		}
	})
	w.ready(ctx, t)
	return ctx, w, between
}

func (p *proxy) serve(through http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	h := &hand{kind: kindOf(r), since: time.Now()}
	defer p.take(h)()
	// Read the whole body before passing it on. The API server denies a request
	// without reading the body, and then the two halves of the proxied stream
	// sometimes wait for each other forever.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	watch := r.URL.Query().Get("watch") != ""
	p.mu.Lock()
	h.read = true
	if watch {
		h.cancel = cancel
	}
	p.mu.Unlock()
	if t := p.caught(r); t != nil {
		t.serve(through, w, r)
		return
	}
	switch fault := p.chooseFault(r, watch); fault {
	case 0:
		through.ServeHTTP(w, r)
	case lostReply: // the API server handles the request, and the answer is lost
		through.ServeHTTP(httptest.NewRecorder(), r)
		p.refuse(w, http.StatusInternalServerError)
	default:
		p.refuse(w, fault)
	}
}

// lostReply is the fault without a status.
const lostReply = -1

// chooseFault chooses the fault of a request; 0 means none.
func (p *proxy) chooseFault(r *http.Request, watch bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts["requests"]++
	if rand.IntN(100) >= p.faults || !strings.Contains(r.URL.Path, p.only) {
		return 0
	}
	if p.only != "" {
		return http.StatusInternalServerError
	}
	kinds := []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if r.Method != http.MethodGet {
		kinds = append(kinds, http.StatusConflict)
	}
	if !watch {
		kinds = append(kinds, lostReply)
	}
	fault := kinds[rand.IntN(len(kinds))]
	if fault == lostReply {
		p.counts["replies lost"]++
	} else {
		p.counts[http.StatusText(fault)]++
	}
	return fault
}

// refuse answers like the API server, or like a webhook that quotes its
// request.
func (p *proxy) refuse(w http.ResponseWriter, code int) {
	p.mu.Lock()
	says := p.says
	p.mu.Unlock()
	answer := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Code:     int32(code),
		Message:  "injected: admission webhook denied the request: " + says,
		Reason: map[int]metav1.StatusReason{
			http.StatusConflict: metav1.StatusReasonConflict, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
			http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
		}[code],
	}
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
		answer.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// take registers a request. The returned function removes it.
func (p *proxy) take(h *hand) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending[h] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.pending, h)
	}
}

// cut ends every watch without an error.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.pending {
		if h.cancel != nil {
			h.cancel()
			p.counts["watches cut"]++
		}
	}
}

// inHand describes the unanswered requests, to see after a failure whether they
// wait for the proxy.
func (p *proxy) inHand() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.pending {
		where := "its body is not read"
		if h.read {
			where = "passed on"
		}
		all = append(all, fmt.Sprintf("%s for %s, %s", h.kind, time.Since(h.since).Round(time.Millisecond), where))
	}
	return all
}

// fail lets a percentage of the requests fail from now on, with a message.
func (p *proxy) fail(percent int, says string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.says, p.only = percent, says, ""
}

// failOnly lets all requests fail whose path contains part, with a message.
func (p *proxy) failOnly(part, says string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.says, p.only = 100, says, part
}

// did returns the number of handled requests of a kind.
func (p *proxy) did() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}
