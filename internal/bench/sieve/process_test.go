// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

const (
	requestTakes = 2 * time.Millisecond // one way
	eventTakes   = 5 * time.Millisecond
)

var errKilled = errors.New("the process was killed")

// process is the connection of one process of a controller. Caches see the
// store through it.
type process struct {
	*server

	life     context.Context // ends when the process is killed
	isFrozen bool            // its lists and watches end at frozenAt
	frozenAt int
	hidden   int // its watches leave out this version
	expired  int // how often all watches had to list again
}

// expire ends all watches. The informers list again.
func (p *process) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired++
	p.wake()
}

// thaw shows what has happened.
func (p *process) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isFrozen = false
	p.wake()
}

// RoundTrip answers a request. Nothing that a killed process sends arrives, and
// it gets no answer.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(requestTakes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if p.life.Err() != nil {
		return nil, errKilled
	}
	response, err := p.answer(r)
	if p.life.Err() != nil {
		return nil, errKilled
	}
	failed, ok := errors.AsType[*apierrors.StatusError](err)
	if ok {
		failed.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return reply(r, int(failed.ErrStatus.Code), failed.ErrStatus)
	}
	return response, err
}

// answer reads the path /apis/<group>/<version>/namespaces/<namespace>/...
func (p *process) answer(r *http.Request) (*http.Response, error) {
	_, rest, _ := strings.Cut(r.URL.Path, "/namespaces/")
	parts := append(strings.Split(rest, "/"), "", "")
	w := &write{key: key{parts[1], parts[2]}, by: byController, subresource: parts[3]}
	w.patch = types.PatchType(r.Header.Get("Content-Type"))
	query := r.URL.Query()
	if r.Method == http.MethodGet {
		switch {
		case query.Get("watch") != "":
			return p.watch(r, w.resource)
		case w.name == "":
			return p.listed(r, w.resource)
		}
		return p.get(r, w.key)
	}
	w.verb = map[string]string{
		http.MethodPost: "create", http.MethodPut: "update",
		http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]
	if r.Body != nil {
		var err error
		w.body, err = io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	stored, err := p.write(w)
	if err != nil {
		return nil, err
	}
	code := http.StatusOK
	if w.verb == "create" {
		code = http.StatusCreated
	}
	return reply(r, code, stored.Object)
}

// get is never stale: the API server reads its store.
func (p *process) get(r *http.Request, k key) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stored := p.objects[k]
	if stored == nil {
		return nil, apierrors.NewNotFound(groupResource(k.resource), k.name)
	}
	return reply(r, http.StatusOK, stored.Object)
}

// listed answers a list. Without a version it is not stale either.
func (p *process) listed(r *http.Request, resource string) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	version := len(p.history)
	if r.URL.Query().Get("resourceVersion") != "" {
		version = p.sees()
	}
	apiVersion, kind := kindOf(resource)
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		apiVersion = "meta.k8s.io/v1"
		kind = "PartialObjectMetadata"
	}
	items := []any{}
	for _, o := range p.list(resource, version) {
		item := maps.Clone(o.Object)
		item["apiVersion"] = apiVersion
		item["kind"] = kind
		items = append(items, item)
	}
	return reply(r, http.StatusOK, values{
		"apiVersion": apiVersion, "kind": kind + "List", "items": items,
		"metadata": values{"resourceVersion": strconv.Itoa(version)},
	})
}

// kindOf is the kind of a resource that is listed or watched.
func kindOf(resource string) (apiVersion, kind string) {
	if resource == runs {
		return v1alpha1.GroupVersion().String(), "AgentRun"
	}
	return "batch/v1", "Job"
}

// sees is the last version that the process may see.
func (p *process) sees() int {
	if p.isFrozen {
		return p.frozenAt
	}
	return len(p.history)
}

// watch streams the changes after the version that the request names.
func (p *process) watch(r *http.Request, resource string) (*http.Response, error) {
	version, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	reader, writer := io.Pipe()
	p.mu.Lock()
	s := &stream{process: p, resource: resource, out: json.NewEncoder(writer), version: version, expired: p.expired}
	p.mu.Unlock()
	go func() {
		select { // the http.Client has the response first
		case <-time.After(requestTakes):
		case <-r.Context().Done():
		}
		_ = writer.CloseWithError(s.follow(r.Context()))
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: reader,
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

// stream is one watch.
type stream struct {
	*process

	resource string
	out      *json.Encoder
	version  int // the last that was sent
	expired  int // before it began
}

func (s *stream) send(kind watch.EventType, o any) error {
	return s.out.Encode(values{"type": kind, "object": o})
}

// follow sends changes until the request or the process ends, or the watch
// expires.
func (s *stream) follow(ctx context.Context) error {
	for {
		s.mu.Lock()
		grown := s.grown
		isExpired := s.process.expired > s.expired
		next := slices.Clone(s.history[min(s.version, s.sees()):s.sees()])
		s.mu.Unlock()
		for _, c := range next {
			s.version = c.version
			if c.base() != s.resource || c.version == s.hidden {
				continue
			}
			err := s.send(c.kind, c.object.Object)
			if err != nil {
				return err
			}
		}
		switch {
		case len(next) > 0:
		case isExpired:
			expired := apierrors.NewResourceExpired("too old resource version").ErrStatus
			expired.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			return s.send(watch.Error, expired)
		default:
			select {
			case <-grown:
			case <-ctx.Done():
				return ctx.Err()
			case <-s.life.Done():
				return errKilled
			}
		}
		time.Sleep(eventTakes)
	}
}

func reply(r *http.Request, code int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Request: r, Body: io.NopCloser(bytes.NewReader(text)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}
