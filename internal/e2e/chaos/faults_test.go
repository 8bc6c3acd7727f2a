// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// moment is the stage of a request at which a fault occurs.
type moment string

const (
	unasked    moment = "before it is done"
	unanswered moment = "done and not answered"
	answered   moment = "answered"
)

// fault occurs once, at the nth request of a kind, such as "create jobs".
type fault struct {
	kind   string
	nth    int
	at     moment        // a watch can only be answered, because its answer does not end
	after  time.Duration // after the answer, or after the start of a watch
	spring func()
}

// set replaces an earlier fault; nil removes it.
func (p *proxy) set(t *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned = t
}

// caught returns the fault of a request, or nil.
func (p *proxy) caught(r *http.Request) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.planned
	if t == nil || t.kind != kindOf(r) {
		return nil
	}
	if t.nth--; t.nth > 0 {
		return nil
	}
	p.planned = nil
	return t
}

// serve applies a fault to a request. Without an answer, it holds the request
// until the client is gone.
func (t *fault) serve(through http.Handler, w http.ResponseWriter, r *http.Request) {
	switch t.at {
	case answered:
		if strings.HasPrefix(t.kind, "watch ") {
			defer time.AfterFunc(t.after, t.spring).Stop()
		} else {
			defer time.AfterFunc(t.after, t.spring) // the answer is sent when serve returns
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

// kindOf returns the verb and the resource of a request in a namespace, as in
// an audit log.
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
