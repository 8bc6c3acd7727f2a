// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Request is one request to the API server.
type Request struct {
	// Verb is get, list, create, update, patch or delete. A list names no object.
	Verb string
	Key
	// Subresource is status, or empty.
	Subresource string
	// Body is the object of a create or update, or the patch.
	Body      []byte
	PatchType types.PatchType
	// Delete holds the preconditions and the propagation of a delete.
	Delete metav1.DeleteOptions
}

// String is for reports. It has the whole patch.
func (r Request) String() string {
	text := r.Verb + " " + r.Key.String()
	if r.Subresource != "" {
		text += " " + r.Subresource
	}
	if len(r.Body) > 0 && r.Verb == "patch" {
		text += " " + string(r.Body)
	}
	return text
}

func (r Request) isRead() bool { return r.Verb == "get" || r.Verb == "list" }

// Answer is what the API server answers.
type Answer struct {
	Object *Object   // of a get or a write
	List   []*Object // of a list
	Err    error
}

// Change is a new version of an object. Caches see it.
type Change struct {
	Before, After *Object // nil: it did not exist; it was removed
}

// key names the object that changed.
func (c Change) key() Key {
	if c.After == nil {
		return c.Before.Key
	}
	return c.After.Key
}

// Store is the API server and its objects. A copy is a snapshot: a write
// replaces what it changes.
type Store struct {
	// Now is the time of the cluster.
	Now time.Time

	// HasStatus has the resources with a status subresource.
	HasStatus map[string]bool

	// Admit may change an object that is about to be written, or refuse it, as
	// an admission webhook or a quota does. Nil admits everything.
	Admit func(now time.Time, r Request, fields map[string]any) error

	objects []*Object // sorted by key
	version int
	uids    int
}

// Objects lists the objects of a resource.
func (s *Store) Objects(resource string) []*Object {
	var list []*Object
	for _, o := range s.objects {
		if o.Resource == resource {
			list = append(list, o)
		}
	}
	return list
}

// Object returns the object of a key; nil for none.
func (s *Store) Object(key Key) *Object { return find(s.objects, key) }

// Do executes a request. The change is empty if nothing was written.
func (s *Store) Do(r Request) (Answer, Change) {
	old := s.Object(r.Key)
	if r.Verb == "list" {
		list := s.Objects(r.Resource)
		return Answer{List: slices.DeleteFunc(list, func(o *Object) bool {
			return r.Namespace != "" && o.Namespace != r.Namespace
		})}, Change{}
	}
	if old == nil && r.Verb != "create" {
		return Answer{Err: apierrors.NewNotFound(r.groupResource(), r.Name)}, Change{}
	}
	var change Change
	var err error
	switch r.Verb {
	case "get":
		return Answer{Object: old}, Change{}
	case "create":
		change, err = s.create(r, old)
	case "update", "patch":
		change, err = s.update(r, old)
	case "delete":
		change, err = s.remove(r, old)
	default:
		err = apierrors.NewMethodNotSupported(r.groupResource(), r.Verb)
	}
	if err != nil {
		return Answer{Err: err}, Change{}
	}
	if change == (Change{}) {
		return Answer{Object: old}, change
	}
	if change.After == nil {
		s.objects = without(s.objects, r.Key)
		return Answer{Object: change.Before}, change
	}
	s.objects = with(s.objects, change.After)
	return Answer{Object: change.After}, change
}

func (r Request) groupResource() schema.GroupResource { return schema.ParseGroupResource(r.Resource) }

// next encodes an object at the next version.
func (s *Store) next(key Key, fields map[string]any) (*Object, error) {
	o, err := newObject(key, fields, s.version+1)
	if err == nil {
		s.version++
	}
	return o, err
}

func versionText(version int) string { return strconv.Itoa(version) }

func (s *Store) admit(r Request, fields map[string]any) error {
	if s.Admit == nil {
		return nil
	}
	return s.Admit(s.Now, r, fields)
}

func (s *Store) create(r Request, old *Object) (Change, error) {
	if old != nil {
		return Change{}, apierrors.NewAlreadyExists(r.groupResource(), r.Name)
	}
	fields := map[string]any{}
	err := utiljson.Unmarshal(r.Body, &fields)
	if err != nil {
		return Change{}, apierrors.NewBadRequest(err.Error())
	}
	if s.HasStatus[r.Resource] {
		delete(fields, "status")
	}
	err = s.admit(r, fields)
	if err != nil {
		return Change{}, err
	}
	s.uids++
	u := unstructured.Unstructured{Object: fields}
	u.SetNamespace(r.Namespace)
	u.SetName(r.Name)
	u.SetUID(types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", s.uids)))
	u.SetGeneration(1)
	u.SetCreationTimestamp(metav1.NewTime(s.Now))
	u.SetDeletionTimestamp(nil)
	o, err := s.next(r.Key, fields)
	return Change{After: o}, err
}

// update executes an update or a patch.
func (s *Store) update(r Request, old *Object) (Change, error) {
	text, err := r.apply(old.JSON)
	if err != nil {
		return Change{}, err
	}
	fields := map[string]any{}
	err = utiljson.Unmarshal(text, &fields)
	if err != nil {
		return Change{}, apierrors.NewBadRequest(err.Error())
	}
	u := unstructured.Unstructured{Object: fields}
	err = r.checkPins(old, u.GetUID(), u.GetResourceVersion())
	if err != nil {
		return Change{}, err
	}
	before := old.Fields()
	fields = s.combine(r, before, fields)
	u = unstructured.Unstructured{Object: fields}
	err = r.checkFinalizers(old, u.GetFinalizers())
	if err != nil {
		return Change{}, err
	}
	u.SetGeneration(old.Generation)
	u.SetDeletionTimestamp(old.Deleting)
	err = s.admit(r, fields)
	if err != nil {
		return Change{}, err
	}
	if !sameSpec(before, fields) {
		u.SetGeneration(old.Generation + 1)
	}
	u.SetResourceVersion(versionText(old.version))
	if reflect.DeepEqual(before, normal(fields)) {
		return Change{}, nil
	}
	o, err := s.next(r.Key, fields)
	if err != nil {
		return Change{}, err
	}
	if o.Deleting != nil && len(o.Finalizers) == 0 {
		return Change{Before: o}, nil
	}
	return Change{Before: old, After: o}, nil
}

// combine returns the stored fields with those that a request may change: the
// status alone, or all but the status.
func (s *Store) combine(r Request, before, asked map[string]any) map[string]any {
	from, to := before, asked
	switch {
	case r.Subresource == "status":
		from, to = asked, maps.Clone(before)
	case !s.HasStatus[r.Resource]:
		return asked
	}
	delete(to, "status")
	status, ok := from["status"]
	if ok {
		to["status"] = status
	}
	return to
}

// checkFinalizers refuses a new finalizer of an object that is being deleted.
func (r Request) checkFinalizers(old *Object, asked []string) error {
	if old.Deleting == nil {
		return nil
	}
	for _, name := range asked {
		if !hasFinalizer(old, name) {
			path := field.NewPath("metadata", "finalizers")
			refused := field.Forbidden(path, "no new finalizers can be added if the object is being deleted")
			kind := schema.GroupKind{Kind: r.Resource}
			return apierrors.NewInvalid(kind, r.Name, field.ErrorList{refused})
		}
	}
	return nil
}

func hasFinalizer(o *Object, name string) bool { return slices.Contains(o.Finalizers, name) }

// normal returns the fields with the types that JSON has when it is decoded.
func normal(fields map[string]any) map[string]any {
	text, _ := json.Marshal(fields)
	out := map[string]any{}
	_ = utiljson.Unmarshal(text, &out)
	return out
}

// sameSpec reports whether two objects agree in all but metadata and status.
func sameSpec(a, b map[string]any) bool {
	spec := func(fields map[string]any) []byte {
		fields = maps.Clone(fields)
		delete(fields, "metadata")
		delete(fields, "status")
		text, _ := json.Marshal(fields)
		return text
	}
	return bytes.Equal(spec(a), spec(b))
}

// apply returns the object that an update or a patch asks for.
func (r Request) apply(old []byte) ([]byte, error) {
	switch {
	case r.Verb == "update":
		return r.Body, nil
	case r.PatchType == types.MergePatchType:
		text, err := jsonpatch.MergePatch(old, r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return text, nil
	case r.PatchType == types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		text, err := patch.Apply(old)
		if err != nil {
			return nil, r.invalid(err.Error())
		}
		return text, nil
	}
	return nil, apierrors.NewBadRequest("world: patch type " + string(r.PatchType) + " is not served")
}

func (r Request) invalid(message string) error {
	return apierrors.NewGenericServerResponse(
		http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", message, 0, false)
}

// checkPins refuses a request for another object, or for an earlier version.
func (r Request) checkPins(old *Object, uid types.UID, version string) error {
	if uid != "" && uid != old.UID {
		//nolint:staticcheck // the API server's text
		mismatch := fmt.Errorf(
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old.UID)
		return apierrors.NewConflict(r.groupResource(), r.Name, mismatch)
	}
	if version != "" && version != versionText(old.version) {
		return apierrors.NewConflict(r.groupResource(), r.Name, fmt.Errorf(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

func (s *Store) remove(r Request, old *Object) (Change, error) {
	if pins := r.Delete.Preconditions; pins != nil {
		err := r.checkPins(old, ptr.Deref(pins.UID, ""), ptr.Deref(pins.ResourceVersion, ""))
		if err != nil {
			return Change{}, err
		}
	}
	fields := old.Fields()
	u := unstructured.Unstructured{Object: fields}
	policy := ptr.Deref(r.Delete.PropagationPolicy, metav1.DeletePropagationBackground)
	switch {
	case policy == metav1.DeletePropagationOrphan:
		return Change{}, apierrors.NewBadRequest("world: propagation Orphan is not served")
	case policy == metav1.DeletePropagationForeground && !hasFinalizer(old, metav1.FinalizerDeleteDependents):
		u.SetFinalizers(append(u.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if len(u.GetFinalizers()) == 0 {
		s.version++
		return Change{Before: old}, nil
	}
	if old.Deleting == nil {
		now := metav1.NewTime(s.Now)
		u.SetDeletionTimestamp(&now)
		u.SetDeletionGracePeriodSeconds(new(int64))
		u.SetGeneration(old.Generation + 1)
	}
	if reflect.DeepEqual(old.Fields(), normal(fields)) {
		return Change{}, nil
	}
	o, err := s.next(r.Key, fields)
	return Change{Before: old, After: o}, err
}
