// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// behavior is what the network does to some requests.
type behavior struct {
	reason string
	hits   func(r *http.Request) bool
	// act reports whether it has answered, or taken the answer away.
	act       func(through http.Handler, w http.ResponseWriter, r *http.Request) (done bool)
	onWatches bool
	lasts     time.Duration // how long the watches are left as they are, until the controller ends them itself
}

// behave sets what happens to requests from now on; nil for nothing.
func (p *proxy) behave(b *behavior) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acts = b
}

// during has a fault for as long as f takes. Only a fault of watches begins
// them again: their lists queue each run, and would hide a run that was
// forgotten.
func (p *proxy) during(fault behavior, f func()) {
	p.behave(&fault)
	if fault.onWatches {
		p.cut()
	}
	f()
	p.behave(nil)
	if fault.onWatches && fault.lasts == 0 {
		p.cut()
	}
}

// misbehave does to a request what is set, and reports whether that is done.
func (p *proxy) misbehave(through http.Handler, w http.ResponseWriter, r *http.Request) (done bool) {
	p.mu.Lock()
	b := p.acts
	isHit := b != nil && b.hits(r)
	if isHit {
		p.hit++
	}
	p.mu.Unlock()
	return isHit && b.act(through, w, r)
}

// delay holds a request, at most until its client gives up.
func delay(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// network has each fault of a network, and of a proxy in it.
var network = map[string]behavior{
	"Delays": {"Each request takes up to a second more.", every, func(_ http.Handler, _ http.ResponseWriter, r *http.Request) bool {
		delay(r, rand.N(time.Second))
		return false
	}, false, 0},
	"ResetBefore": {"A connection breaks before the API server has the request.", sometimes, func(http.Handler, http.ResponseWriter, *http.Request) bool {
		panic(http.ErrAbortHandler)
	}, false, 0},
	"ResetAfter": {"A connection breaks after the API server has done the request.", sometimes, func(through http.Handler, _ http.ResponseWriter, r *http.Request) bool {
		through.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}, false, 0},
	"CutBody": {"A connection breaks in the middle of an answer.", sometimes, func(through http.Handler, w http.ResponseWriter, r *http.Request) bool {
		half(through, w, r, true)
		panic(http.ErrAbortHandler)
	}, false, 0},
	"ShortBody": {"An answer ends too early, and looks whole.", sometimes, func(through http.Handler, w http.ResponseWriter, r *http.Request) bool {
		half(through, w, r, false)
		return true
	}, false, 0},
	"ForeignPage":  {"A proxy answers with a page and 200.", sometimes, page(http.StatusOK), false, 0},
	"ForeignError": {"A proxy answers that there is no such page.", sometimes, page(http.StatusNotFound), false, 0},
	"TooMany": {"The API server asks for patience.", sometimes, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) bool {
		return refuse(w, apierrors.NewTooManyRequests("too many requests", 1))
	}, false, 0},
	"HeldWatch": {"A watch begins late.", isWatch, func(_ http.Handler, _ http.ResponseWriter, r *http.Request) bool {
		delay(r, 3*time.Second)
		return false
	}, true, 0},
	"SilentWatch": {"A watch is open, and delivers nothing until it is cut.", isWatch, silence, true, 0},
	"DeadWatch":   {"A watch is open for good, and delivers nothing.", isWatch, silence, true, 11 * time.Minute},
	"TooOld": {"The API server has forgotten the version of each watch.", isWatch, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) bool {
		return refuse(w, apierrors.NewResourceExpired("too old resource version: 1 (2)"))
	}, true, 0},
	"FullEtcd": {"Etcd refuses each write.", isWrite, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) bool {
		return refuse(w, apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded")))
	}, false, 0},
}

// TestTheNetworkBreaks: a fault under load, for seconds. The short set has no
// fault that lasts.
func TestTheNetworkBreaks(t *testing.T) {
	t.Parallel()
	for name, fault := range network {
		if fault.lasts > 0 && !either(true, false) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w, between := behindProxy(t)
			w.reason = fault.reason
			last := either(32, 8)
			w.during(ctx, t, last, 300*time.Millisecond, func() {
				between.during(fault, func() {
					suite.Wait(ctx, either(12*time.Second, 2*time.Second))
					suite.Eventually(t, "a request is hit", func(context.Context) bool { return between.did() > 0 })
				})
			})
			if fault.lasts > 0 {
				assert.Less(t, w.recorder.Ended(), last+1, "the controller does not know of all runs")
				suite.Wait(ctx, fault.lasts)
			}
			w.holds(ctx, t, last+1)
		})
	}
}

func every(*http.Request) bool { return true }

// sometimes is one of four requests that are not watches.
func sometimes(r *http.Request) bool { return !isWatch(r) && rand.IntN(4) == 0 }

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

func isWrite(r *http.Request) bool { return r.Method != http.MethodGet }

// failing lets a percentage of the requests fail like at the API server or a
// webhook that quotes its request, or loses the answer.
func failing(percent int, says string) *behavior {
	says = "injected: admission webhook denied the request: " + says
	broken := apierrors.NewInternalError(errors.New(says))
	kinds := []*apierrors.StatusError{
		broken, apierrors.NewTooManyRequests(says, 1), apierrors.NewServiceUnavailable(says),
		apierrors.NewConflict(schema.GroupResource{}, "", errors.New(says)),
	}
	return &behavior{
		hits: func(*http.Request) bool { return rand.IntN(100) < percent },
		act: func(through http.Handler, w http.ResponseWriter, r *http.Request) bool {
			if !isWatch(r) && rand.IntN(5) == 0 {
				through.ServeHTTP(httptest.NewRecorder(), r)
				return refuse(w, broken)
			}
			of := len(kinds)
			if !isWrite(r) {
				of-- // a read has no conflict
			}
			return refuse(w, kinds[rand.IntN(of)])
		},
	}
}

// silence opens a watch and delivers nothing.
func silence(_ http.Handler, w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	return true
}

// refuse answers as the API server does.
func refuse(w http.ResponseWriter, err *apierrors.StatusError) bool {
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // the client may be gone
	return true
}

// page is the answer of a program that is not an API server.
func page(code int) func(http.Handler, http.ResponseWriter, *http.Request) bool {
	return func(_ http.Handler, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		_, _ = w.Write([]byte("<html><body>Please log in</body></html>"))
		return true
	}
}

// half sends the first half of an answer. With whole, the header has the length
// of all of it.
func half(through http.Handler, w http.ResponseWriter, r *http.Request, whole bool) {
	answer := httptest.NewRecorder()
	through.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	if whole {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
}
