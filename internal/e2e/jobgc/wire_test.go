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
		_ = body.Close()
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
	*io.PipeReader

	from io.Closer
}

func newLagging(from io.ReadCloser, lag time.Duration) *lagging {
	type piece struct {
		due  time.Time
		data []byte
		err  error
	}
	pieces := make(chan piece, 1<<14)
	go func() { // reads as soon as data comes, until the body ends or is closed
		defer close(pieces)
		for {
			data := make([]byte, 1<<14)
			n, err := from.Read(data)
			pieces <- piece{time.Now().Add(lag), data[:n], err}
			if err != nil {
				return
			}
		}
	}()
	reader, writer := io.Pipe()
	go func() {
		for p := range pieces {
			<-time.After(time.Until(p.due))
			_, _ = writer.Write(p.data) // fails once the reader is closed
			if p.err != nil {
				_ = writer.CloseWithError(p.err)
			}
		}
	}()
	return &lagging{reader, from}
}

// Close ends it.
func (l *lagging) Close() error {
	_ = l.PipeReader.Close()
	return l.from.Close()
}
