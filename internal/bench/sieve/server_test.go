// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
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

// server is the part of an API server that the controllers need. It keeps each
// version of each object.
type server struct {
	mu      sync.Mutex
	objects map[key]*object
	history []change
	grown   chan struct{} // closed when the watches may see more
	created map[string]int
	counts  map[point]int // by point without nth
	before  func(point) error
	after   func(change)
}

func newServer() *server {
	return &server{
		objects: map[key]*object{},
		grown:   make(chan struct{}),
		created: map[string]int{},
		counts:  map[point]int{},
	}
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

func (w *write) conflict(why string) error {
	return apierrors.NewConflict(groupResource(w.resource), w.name, errors.New(why))
}

// write answers a write. The caller holds the lock.
func (s *server) write(w *write) (*object, error) {
	kind := w.point(0)
	err := s.before(w.point(s.counts[kind] + 1))
	if err != nil {
		return nil, err
	}
	stored := s.objects[w.key]
	if w.verb == "create" {
		return s.create(w)
	}
	if stored == nil {
		return nil, apierrors.NewNotFound(groupResource(w.resource), w.name)
	}
	if w.verb == "delete" {
		return s.delete(w, stored)
	}
	text, err := w.merged(stored)
	if err != nil {
		return nil, err
	}
	next := new(object)
	err = next.UnmarshalJSON(text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.update(w, stored, next)
}

// merged is the object that an update or a patch asks for.
func (w *write) merged(stored *object) ([]byte, error) {
	if w.verb == "update" {
		return w.body, nil
	}
	text, err := stored.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if w.patch != types.JSONPatchType {
		return jsonpatch.MergePatch(text, w.body)
	}
	operations, err := jsonpatch.DecodePatch(w.body)
	if err == nil {
		text, err = operations.Apply(text)
	}
	if err != nil {
		failed := apierrors.NewGenericServerResponse(
			http.StatusUnprocessableEntity, w.verb, groupResource(w.resource), w.name, err.Error(), 0, true)
		return nil, failed
	}
	return text, nil
}

func (s *server) create(w *write) (*object, error) {
	next := new(object)
	err := next.UnmarshalJSON(w.body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	w.name = next.GetName()
	if s.objects[w.key] != nil {
		return nil, apierrors.NewAlreadyExists(groupResource(w.resource), w.name)
	}
	s.created[w.resource]++
	next.SetUID(types.UID(fmt.Sprintf("%s-%d-of-a-plan", w.resource[:3], s.created[w.resource])))
	next.SetCreationTimestamp(metav1.Now())
	next.SetGeneration(1)
	delete(next.Object, "status")
	spec, _ := next.Object["spec"].(values)
	if w.resource == jobs && spec["suspend"] == nil {
		spec["suspend"] = false
	}
	return s.store(w, watch.Added, next), nil
}

// update stores the next version of an object, if it differs.
func (s *server) update(w *write, stored, next *object) (*object, error) {
	version := next.GetResourceVersion()
	if version != "" && version != stored.GetResourceVersion() {
		return nil, w.conflict("the object has been modified")
	}
	uid := next.GetUID()
	if uid != "" && uid != stored.GetUID() {
		return nil, w.conflict("Precondition failed: UID")
	}
	if w.subresource == "" {
		next.Object["status"] = stored.Object["status"]
		next.SetResourceVersion(stored.GetResourceVersion())
		next.SetDeletionTimestamp(stored.GetDeletionTimestamp())
	} else {
		status := next.Object["status"]
		next = stored.DeepCopy()
		next.Object["status"] = status
	}
	if next.Object["status"] == nil {
		delete(next.Object, "status")
	}
	if reflect.DeepEqual(next.Object, stored.Object) {
		return stored, nil
	}
	if !reflect.DeepEqual(next.Object["spec"], stored.Object["spec"]) {
		next.SetGeneration(stored.GetGeneration() + 1)
	}
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		return s.store(w, watch.Deleted, next), nil
	}
	return s.store(w, watch.Modified, next), nil
}

func (s *server) delete(w *write, stored *object) (*object, error) {
	var options metav1.DeleteOptions
	if len(w.body) > 0 {
		err := json.Unmarshal(w.body, &options)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if p := options.Preconditions; p != nil {
		isOther := p.UID != nil && *p.UID != stored.GetUID()
		hasChanged := p.ResourceVersion != nil && *p.ResourceVersion != stored.GetResourceVersion()
		if isOther || hasChanged {
			return nil, w.conflict("Precondition failed")
		}
	}
	next := stored.DeepCopy()
	if len(next.GetFinalizers()) == 0 {
		return s.store(w, watch.Deleted, next), nil
	}
	if next.GetDeletionTimestamp() != nil {
		return stored, nil
	}
	now := metav1.Now()
	next.SetDeletionTimestamp(&now)
	return s.store(w, watch.Modified, next), nil
}

// store appends a version to the history.
func (s *server) store(w *write, kind watch.EventType, next *object) *object {
	count := w.point(0)
	s.counts[count]++
	version := len(s.history) + 1
	next.SetResourceVersion(strconv.Itoa(version))
	s.objects[w.key] = next
	if kind == watch.Deleted {
		delete(s.objects, w.key)
	}
	c := change{point: w.point(s.counts[count]), version: version, kind: kind, object: next}
	s.history = append(s.history, c)
	s.wake()
	s.after(c)
	return next
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
