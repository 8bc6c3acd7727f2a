// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// identify returns what distinguishes obj. It asks no scheme and allocates
// nothing for an object with a uid. It calls the caller's code, so mu must not
// be held.
func (r *Recorder) identify(obj runtime.Object) (k key, err error) {
	defer catch(obj, &err)
	if isnil.Is(obj) {
		return k, errors.New("the object is nil")
	}
	m, err := apimeta.Accessor(obj)
	if err == nil {
		k = key{uid: string(m.GetUID()), namespace: m.GetNamespace(), name: m.GetName()}
		if k.uid != "" {
			return k, nil
		}
	}
	ref, err := r.refer(obj)
	return keyOf(&ref), err
}

// refer returns what an Event says of obj, or an error that says why it cannot
// say it. A reference has a kind. It calls the caller's code, so mu must not be
// held.
func (r *Recorder) refer(obj runtime.Object) (ref corev1.ObjectReference, err error) {
	defer catch(obj, &err)
	if reference, ok := obj.(*corev1.ObjectReference); ok {
		if reference.Kind == "" {
			return ref, errors.New("the ObjectReference names no kind")
		}
		ref = *reference
		ref.ResourceVersion = ""
		ref.FieldPath = ""
		return ref, nil
	}
	m, err := apimeta.Accessor(obj)
	if err != nil {
		return ref, fmt.Errorf("%T has no object metadata", obj)
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" {
		if r.o.Scheme == nil {
			return ref, fmt.Errorf("%T carries no kind: set Options.Scheme, or the object's TypeMeta", obj)
		}
		known, _, err := r.o.Scheme.ObjectKinds(obj)
		if err != nil || len(known) == 0 || known[0].Kind == "" {
			return ref, fmt.Errorf("Options.Scheme does not know %T: register its API group", obj)
		}
		gvk = known[0]
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return corev1.ObjectReference{
		APIVersion: apiVersion,
		Kind:       kind,
		Namespace:  m.GetNamespace(),
		Name:       m.GetName(),
		UID:        m.GetUID(),
	}, nil
}

// aboutOf returns the other references of an Event. A related object that
// cannot be referred to is left out.
func (r *Recorder) aboutOf(regarding, related runtime.Object) (a about) {
	ref, ok := regarding.(*corev1.ObjectReference)
	if ok && ref != nil {
		a.fieldPath = ref.FieldPath
	}
	if !isnil.Is(related) {
		a.related, _ = r.refer(related)
		a.related.Name = r.clean(a.related.Name)
	}
	return a
}
