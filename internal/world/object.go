// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Key names an object. Resource is the plural and its group, such as
// jobs.batch.
type Key struct{ Resource, Namespace, Name string }

// String is for reports.
func (k Key) String() string { return k.Resource + " " + k.Namespace + "/" + k.Name }

func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// Object is one version of a stored object. It never changes.
type Object struct {
	Key

	// JSON is the whole object.
	JSON []byte

	// UID, Generation, Deleting, Finalizers and Owners are from its metadata.
	UID        types.UID
	Generation int64
	Deleting   *metav1.Time
	Finalizers []string
	Owners     []metav1.OwnerReference

	version int
	content uint64 // a hash of the object without its version
	decoded any    // a pointer to its Go type, once it was read as that
}

// newObject encodes an object at a version.
func newObject(key Key, fields map[string]any, version int) (*Object, error) {
	u := unstructured.Unstructured{Object: fields}
	u.SetResourceVersion("")
	bare, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	hash := fnv.New64a()
	_, _ = hash.Write(bare)
	u.SetResourceVersion(versionText(version))
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return &Object{
		Key: key, JSON: text,
		UID: u.GetUID(), Generation: u.GetGeneration(), Deleting: u.GetDeletionTimestamp(),
		Finalizers: u.GetFinalizers(), Owners: u.GetOwnerReferences(),
		version: version, content: hash.Sum64(),
	}, nil
}

// Fields decodes the object into a map that the caller may change.
func (o *Object) Fields() map[string]any {
	fields := map[string]any{}
	_ = utiljson.Unmarshal(o.JSON, &fields) // newObject encoded it
	return fields
}

// copier is a pointer to a Go type of the API.
type copier[T any] interface {
	*T
	DeepCopyInto(out *T)
}

// As decodes an object into its Go type. The caller may change the result.
func As[T any, P copier[T]](o *Object) (*T, error) {
	decoded, ok := o.decoded.(*T)
	if !ok {
		decoded = new(T)
		err := json.Unmarshal(o.JSON, decoded)
		if err != nil {
			return nil, err
		}
		o.decoded = decoded
	}
	out := new(T)
	P(decoded).DeepCopyInto(out)
	return out, nil
}

// find returns the object of a key in a sorted list; nil for none.
func find(objects []*Object, key Key) *Object {
	i, ok := search(objects, key)
	if !ok {
		return nil
	}
	return objects[i]
}

func search(objects []*Object, key Key) (int, bool) {
	return slices.BinarySearchFunc(objects, key, func(o *Object, k Key) int { return compareKeys(o.Key, k) })
}

// with returns a sorted list in which an object replaces its earlier version.
func with(objects []*Object, o *Object) []*Object {
	i, ok := search(objects, o.Key)
	if !ok {
		return slices.Insert(slices.Clone(objects), i, o)
	}
	changed := slices.Clone(objects)
	changed[i] = o
	return changed
}

// without returns a sorted list that lacks a key.
func without(objects []*Object, key Key) []*Object {
	i, ok := search(objects, key)
	if !ok {
		return objects
	}
	return slices.Delete(slices.Clone(objects), i, i+1)
}

// timeText is a time as Kubernetes writes it.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
