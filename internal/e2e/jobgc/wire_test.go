// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// wire is the connection of one controller: it counts the requests about Jobs,
// delays what watches bring, and can be cut.
type wire struct {
	lag time.Duration

	mu      sync.Mutex
	counts  map[string]int // by verb; list and watch apart
	cut     bool
	watches map[*lagging]bool
}

func newWire(lag time.Duration) *wire {
	return &wire{lag: lag, counts: map[string]int{}, watches: map[*lagging]bool{}}
}

var errCut = errors.New("the wire is cut")

// around puts the wire into a transport.
func (w *wire) around(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		watches := r.URL.Query().Get("watch") != ""
		if w.note(r, watches) {
			return nil, errCut
		}
		reply, err := next.RoundTrip(r)
		if err != nil || !watches {
			return reply, err
		}
		body := newLagging(reply.Body, w.lag)
		w.mu.Lock()
		w.watches[body] = true
		w.mu.Unlock()
		reply.Body = body
		return reply, nil
	})
}

// note counts a request about Jobs, and says whether the wire is cut.
func (w *wire) note(r *http.Request, watches bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // apis batch v1 namespaces NAMESPACE jobs NAME
	if len(path) >= 6 && path[5] == "jobs" {
		verb := r.Method
		if watches {
			verb = "WATCH"
		} else if verb == http.MethodGet && len(path) == 6 {
			verb = "LIST"
		}
		w.counts[verb]++
	}
	return w.cut
}

// requests is how many requests with a verb there have been.
func (w *wire) requests(verb string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[verb]
}

// sever ends all watches, and blocks everything until mend.
func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for body := range w.watches {
		body.fail(errCut)
		delete(w.watches, body)
	}
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lagging is the body of a watch. Every byte arrives a while after it was sent.
type lagging struct {
	from   io.ReadCloser
	lag    time.Duration
	pieces chan piece
	done   chan struct{}
	once   sync.Once
	err    error // why it is done
	rest   []byte
}

type piece struct {
	at   time.Time
	data []byte
	err  error
}

func newLagging(from io.ReadCloser, lag time.Duration) *lagging {
	l := &lagging{from: from, lag: lag, pieces: make(chan piece, 1<<14), done: make(chan struct{})}
	go l.receive()
	return l
}

// receive reads the body as soon as data comes. It ends with the body.
func (l *lagging) receive() {
	for {
		data := make([]byte, 1<<14)
		n, err := l.from.Read(data)
		select {
		case l.pieces <- piece{time.Now(), data[:n], err}:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read waits until the next piece is due.
func (l *lagging) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		select {
		case next := <-l.pieces:
			if !l.wait(time.Until(next.at.Add(l.lag))) {
				return 0, l.err
			}
			if l.rest = next.data; next.err != nil && len(next.data) == 0 {
				return 0, next.err
			}
		case <-l.done:
			return 0, l.err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lagging) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-l.done:
		return false
	}
}

// fail ends the body with an error.
func (l *lagging) fail(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.done)
		_ = l.from.Close()
	})
}

// Close ends it.
func (l *lagging) Close() error {
	l.fail(http.ErrBodyReadAfterClose)
	return nil
}
