// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"net/http"
	"sync"
	"time"
)

// ServerTime is the API server's time: the Date of its last answer, plus the
// time since. The zero value is ready, safe for concurrent use, and must not be
// copied.
type ServerTime struct {
	mu    sync.Mutex
	date  time.Time // of the last answer
	heard time.Time // when it came, by the monotonic clock
}

// Wrap returns a RoundTripper that reads the Date of each answer. Pass it to
// Wrap of the rest.Config from which you make the informer's client.
func (s *ServerTime) Wrap(next http.RoundTripper) http.RoundTripper {
	return dated{next, s}
}

type dated struct {
	next   http.RoundTripper
	server *ServerTime
}

// WrappedRoundTripper lets client-go and apimachinery find the transport below.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }

// RoundTrip calls the wrapped RoundTripper, and reads the Date.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.next.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return answer, nil // an answer without a Date is an answer
	}
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	d.server.date = date
	d.server.heard = time.Now()
	return answer, nil
}

// now is the API server's time; false if it has not answered.
func (s *ServerTime) now() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.date.Add(time.Since(s.heard)), !s.heard.IsZero()
}
