// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
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
	if fault.onWatches {
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
	}, false},
	"ResetBefore": {"A connection breaks before the API server has the request.", sometimes, func(http.Handler, http.ResponseWriter, *http.Request) bool {
		panic(http.ErrAbortHandler)
	}, false},
	"ResetAfter": {"A connection breaks after the API server has done the request.", sometimes, func(through http.Handler, _ http.ResponseWriter, r *http.Request) bool {
		through.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}, false},
	"CutBody": {"A connection breaks in the middle of an answer.", sometimes, func(through http.Handler, w http.ResponseWriter, r *http.Request) bool {
		half(through, w, r, true)
		panic(http.ErrAbortHandler)
	}, false},
	"ShortBody": {"An answer ends too early, and looks whole.", sometimes, func(through http.Handler, w http.ResponseWriter, r *http.Request) bool {
		half(through, w, r, false)
		return true
	}, false},
	"ForeignPage":  {"A proxy answers with a page and 200.", sometimes, page(http.StatusOK), false},
	"ForeignError": {"A proxy answers that there is no such page.", sometimes, page(http.StatusNotFound), false},
	"TooMany": {"The API server asks for patience.", sometimes, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) bool {
		return refuse(w, apierrors.NewTooManyRequests("too many requests", 1))
	}, false},
	"HeldWatch": {"A watch begins late.", isWatch, func(_ http.Handler, _ http.ResponseWriter, r *http.Request) bool {
		delay(r, 3*time.Second)
		return false
	}, true},
	"SilentWatch": {"A watch is open, and delivers nothing until it is cut.", isWatch, func(_ http.Handler, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}, true},
	"TooOld": {"The API server has forgotten the version of each watch.", isWatch, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) bool {
		return refuse(w, apierrors.NewResourceExpired("too old resource version: 1 (2)"))
	}, true},
	"FullEtcd": {"Etcd refuses each write.", isWrite, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) bool {
		return refuse(w, apierrors.NewInternalError(errors.New("etcdserver: mvcc: database space exceeded")))
	}, false},
}

// TestTheNetworkBreaks: a fault under load, for seconds. The short set has all
// faults, one after the other, in one world, without the fault of 11 minutes.
func TestTheNetworkBreaks(t *testing.T) {
	t.Parallel()
	if *tableFile == "" && !*full {
		t.Run("InTurn", func(t *testing.T) {
			ctx, w, between := behindProxy(t)
			w.during(ctx, t, 3*len(network), 500*time.Millisecond, func() {
				for _, fault := range network {
					between.during(fault, func() { suite.Wait(ctx, 1500*time.Millisecond) })
				}
			})
			hit, _ := between.did()
			assert.Greater(t, hit, len(network))
			w.holds(ctx, t, 3*len(network)+1)
		})
		return
	}
	for name, fault := range network {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w, between := behindProxy(t)
			w.reason = fault.reason
			const last = 32
			w.during(ctx, t, last, 300*time.Millisecond, func() {
				between.during(fault, func() { suite.Wait(ctx, 12*time.Second) })
			})
			hit, _ := between.did()
			t.Logf("%d requests were hit", hit)
			assert.Positive(t, hit)
			w.holds(ctx, t, last+1)
		})
	}
	t.Run("DeadWatch", deadWatch)
}

// deadWatch has watches that are open for good, and deliver nothing. The
// controller ends them itself after 11 minutes.
func deadWatch(t *testing.T) {
	t.Parallel()
	_, w, between := behindProxy(t)
	ctx := t.Context()
	w.reason = "A watch is open for good, and delivers nothing."
	const last = 32
	silent := network["SilentWatch"]
	w.during(ctx, t, last, 300*time.Millisecond, func() {
		between.behave(&silent)
		between.cut()
		suite.Wait(ctx, 5*time.Second)
		between.behave(nil)
	})
	_, ended, _ := w.recorder.Count()
	assert.Less(t, ended, last+1, "the controller does not know of all runs")
	suite.Wait(ctx, 11*time.Minute)
	w.holds(ctx, t, last+1)
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
		reason: "Some requests fail.",
		hits:   func(*http.Request) bool { return rand.IntN(100) < percent },
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
