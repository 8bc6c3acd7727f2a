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

// proxy stands before the API server on the loopback interface, speaks HTTP/2 and TLS as it does, and acts for one user. It can cut
// watches, and answer in the API server's place.
type proxy struct {
	server *httptest.Server

	mu      sync.Mutex
	trap    *trap // or nil
	pending map[*hand]struct{}
	faults  int            // per cent of the requests that fail
	says    string         // what is said in the faults
	only    string         // what the path of a request has that fails, always with a 500; "" for all
	counts  map[string]int // of what was done, by kind
}

// newProxy starts a proxy for the world's controller until the test ends, and returns what the controller connects to.
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

// hand is a request that the proxy has not yet answered to its end.
type hand struct {
	kind   string
	since  time.Time
	read   bool               // its body is, and it was passed on unless it fails
	cancel context.CancelFunc // of a watch
}

// behindProxy makes a world whose controller reaches the API server through a proxy only, and is ready.
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
	// Read to its end before it is passed on: the API server answers what it denies without reading it, and of the two halves of a
	// stream that a proxy has in hand then, now and then one waits for the other for ever.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked is gone
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
	switch fault := p.fault(r, watch); fault {
	case 0:
		through.ServeHTTP(w, r)
	case lostReply: // the API server does what it is asked, and the answer is lost
		through.ServeHTTP(httptest.NewRecorder(), r)
		p.refuse(w, http.StatusInternalServerError)
	default:
		p.refuse(w, fault)
	}
}

// lostReply is the fault that has no status of its own.
const lostReply = -1

// fault chooses what becomes of a request; 0 is nothing.
func (p *proxy) fault(r *http.Request, watch bool) int {
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

// refuse answers as the API server does, or a webhook of it that tells what it was sent.
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
	_ = json.NewEncoder(w).Encode(answer) // to one who may be gone
}

// take notes a request; what it returns forgets it.
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

// cut ends every watch where it is, without a word.
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

// inHand tells of the requests that are not answered, for a test that failed: is it the proxy that they wait for?
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

// fail has a share of the requests fail from now on, each with a message that says something.
func (p *proxy) fail(percent int, says string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.says, p.only = percent, says, ""
}

// failOnly has all requests fail from now on whose path has a part, each with a message that says something.
func (p *proxy) failOnly(part, says string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.says, p.only = 100, says, part
}

// did is what was done so far.
func (p *proxy) did() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}
