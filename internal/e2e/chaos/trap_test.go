// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// moment is where in the life of a request a trap springs.
type moment string

const (
	unasked    moment = "before it is done"
	unanswered moment = "done and not answered"
	answered   moment = "answered"
)

// trap waits for the nth request of a kind, such as "create jobs", and springs once.
type trap struct {
	kind   string
	nth    int
	at     moment        // of a watch, whose answer does not end, only answered
	after  time.Duration // the answer, or the begin of a watch
	spring func()
}

// set puts up a trap in place of an earlier one; nil takes that down.
func (p *proxy) set(t *trap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trap = t
}

// caught returns the trap that a request runs into, or nil.
func (p *proxy) caught(r *http.Request) *trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.trap
	if t == nil || t.kind != kindOf(r) {
		return nil
	}
	if t.nth--; t.nth > 0 {
		return nil
	}
	p.trap = nil
	return t
}

// serve is what a trap does with the request that it caught. One that is not to be answered is held until whoever asked is gone.
func (t *trap) serve(through http.Handler, w http.ResponseWriter, r *http.Request) {
	switch t.at {
	case answered:
		if strings.HasPrefix(t.kind, "watch ") {
			defer time.AfterFunc(t.after, t.spring).Stop()
		} else {
			defer time.AfterFunc(t.after, t.spring) // the answer is sent when this returns
		}
		through.ServeHTTP(w, r)
		return
	case unanswered:
		through.ServeHTTP(httptest.NewRecorder(), r)
	case unasked:
	}
	t.spring()
	<-r.Context().Done()
}

// kindOf is the verb and the resource of a request in a namespace, as an audit log has them.
func kindOf(r *http.Request) string {
	_, path, found := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/") // namespace, resource, name, subresource
	if !found || len(parts) < 2 {
		return ""
	}
	resource := parts[1]
	if len(parts) > 3 {
		resource += "/" + parts[3]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodPut: "update", http.MethodDelete: "delete"}[r.Method]
	switch {
	case verb != "":
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case len(parts) > 2:
		verb = "get"
	default:
		verb = "list"
	}
	return verb + " " + resource
}
