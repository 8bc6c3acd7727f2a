// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	memory "github.com/proompteng/controllerkit/internal/world"
)

// The resources that the controllers cache.
const (
	runs = "agentruns"
	jobs = "jobs"
)

// object is an object as the API server sends it.
type object = unstructured.Unstructured

// change is one change of the store, as a watch sends it.
type change struct {
	point

	version int
	kind    watch.EventType
	object  *object
}

// key names an object. There is one namespace.
type key struct{ resource, name string }

// server is the API server of package world, with the history of its objects.
type server struct {
	mu      sync.Mutex
	store   memory.Store
	objects map[key]*object // as they are stored
	history []change
	grown   chan struct{} // closed when the watches may see more
	created map[string]int
	counts  map[point]int // by point without nth
	before  func(point) error
	after   func(change)
}

func newServer() *server {
	return &server{
		store: memory.Store{
			HasStatus: map[string]bool{groupResource(runs).String(): true, groupResource(jobs).String(): true},
			Admit:     setDefaults,
		},
		objects: map[key]*object{},
		grown:   make(chan struct{}),
		created: map[string]int{},
		counts:  map[point]int{},
	}
}

// setDefaults sets the field of a Job that controllers read.
func setDefaults(_ time.Time, r memory.Request, fields values) error {
	spec, _ := fields["spec"].(values)
	if r.Resource == groupResource(jobs).String() && spec["suspend"] == nil {
		spec["suspend"] = false
	}
	return nil
}

// write is a request that may change an object.
type write struct {
	key

	by          actor
	verb        string
	subresource string
	body        []byte
	patch       types.PatchType
}

// point names the write among all writes of its kind.
func (w *write) point(nth int) point {
	resource := w.resource
	if w.subresource != "" {
		resource += "/" + w.subresource
	}
	return point{by: w.by, verb: w.verb, resource: resource, nth: nth}
}

// request is the write as package world takes it. It takes a strategic merge
// patch for a merge patch.
func (w *write) request() (r memory.Request, err error) {
	r = memory.Request{Verb: w.verb, Subresource: w.subresource, Body: w.body, PatchType: types.MergePatchType}
	if w.patch == types.JSONPatchType {
		r.PatchType = w.patch
	}
	var named metav1.PartialObjectMetadata
	switch {
	case w.verb == "create":
		err = json.Unmarshal(w.body, &named)
		w.name = named.Name
	case w.verb == "delete" && len(w.body) > 0:
		err = json.Unmarshal(w.body, &r.Delete)
	}
	r.Key = memory.Key{Resource: groupResource(w.resource).String(), Namespace: namespace, Name: w.name}
	return r, err
}

// write answers a write. The caller holds the lock.
func (s *server) write(w *write) (*object, error) {
	count := w.point(0)
	err := s.before(w.point(s.counts[count] + 1))
	if err != nil {
		return nil, err
	}
	request, err := w.request()
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	s.store.Now = time.Now()
	answer, changed := s.store.Do(request)
	if answer.Err != nil {
		return nil, answer.Err
	}
	if changed == (memory.Change{}) {
		return s.objects[w.key], nil
	}
	s.counts[count]++
	version := len(s.history) + 1
	next := &object{Object: answer.Object.Fields()}
	next.SetResourceVersion(strconv.Itoa(version)) // that of a deletion is new too
	s.objects[w.key] = next
	kind := watch.Modified
	switch {
	case changed.Before == nil:
		kind = watch.Added
		s.created[w.resource]++
	case changed.After == nil:
		kind = watch.Deleted
		delete(s.objects, w.key)
	}
	c := change{point: w.point(s.counts[count]), version: version, kind: kind, object: next}
	s.history = append(s.history, c)
	s.wake()
	s.after(c)
	return next, nil
}

// wake lets the watches look again.
func (s *server) wake() {
	close(s.grown)
	s.grown = make(chan struct{})
}

// do makes a write of the cluster or a user.
func (s *server) do(by actor, verb, resource, subresource, name string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		text = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &write{key: key{resource, name}, by: by, verb: verb, subresource: subresource, body: text}
	w.patch = types.MergePatchType
	_, _ = s.write(w) // the object may be gone
}

// list returns the objects of a resource at a version, by their names.
func (s *server) list(resource string, version int) map[string]*object {
	found := map[string]*object{}
	for _, c := range s.history[:version] {
		if c.base() != resource {
			continue
		}
		found[c.object.GetName()] = c.object
		if c.kind == watch.Deleted {
			delete(found, c.object.GetName())
		}
	}
	return found
}

func groupResource(resource string) schema.GroupResource {
	groups := map[string]string{runs: "agents.controllerkit.dev", jobs: "batch", "events": "events.k8s.io"}
	return schema.GroupResource{Group: groups[resource], Resource: resource}
}
