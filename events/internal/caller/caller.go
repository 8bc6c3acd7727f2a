// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package caller reads what a caller passes to a recorder: objects, notes and
// errors. Their methods are the caller's code. If one panics, that costs one
// event.
package caller

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/isolate"
)

// MaxName is the API server's limit of an instance, a reason and an action:
// pkg/apis/core/validation/events.go.
const MaxName = 128

// maxAnnotations is how many a call may add to an Event.
const maxAnnotations = 8

// A Scheme finds the kind of an object that carries none.
type Scheme interface {
	ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error)
}

// A Key distinguishes objects. It ignores versions, and has the group and the
// kind only for an object without a uid.
type Key struct {
	UID                   types.UID
	Kind, Namespace, Name string
}

// Catch ends a panic of the caller's code, and stores it in err. of is what
// panicked. A function that calls such code defers it, and holds no lock.
func Catch(of any, err *error) {
	p := recover()
	if p != nil {
		*err = fmt.Errorf("%T %w", of, isolate.Panicked(p))
	}
}

// Sprintf is fmt.Sprintf. It also survives an argument that panics with a value
// whose own text panics.
func Sprintf(note string, args ...any) (text string) {
	defer func() {
		if recover() != nil {
			text = "[withheld: formatting the note panicked]"
		}
	}()
	return fmt.Sprintf(note, args...)
}

// Notef formats a note. Without args only %% is replaced, by %.
func Notef(note string, args ...any) string {
	if len(args) == 0 {
		return strings.ReplaceAll(note, "%%", "%")
	}
	return Sprintf(note, args...)
}

// Identify returns what distinguishes obj. It asks no scheme and allocates
// nothing for an object with a uid.
func Identify(obj runtime.Object, scheme Scheme) (k Key, err error) {
	defer Catch(obj, &err)
	if isnil.Is(obj) {
		return k, errors.New("the object is nil")
	}
	m, err := apimeta.Accessor(obj)
	if err == nil && m.GetUID() != "" {
		return Key{UID: m.GetUID(), Namespace: m.GetNamespace(), Name: m.GetName()}, nil
	}
	ref, err := Reference(obj, scheme)
	k = Key{UID: ref.UID, Namespace: ref.Namespace, Name: ref.Name}
	if k.UID == "" {
		k.Kind = ref.GroupVersionKind().GroupKind().String()
	}
	return k, err
}

// Reference returns what an Event says of obj, or an error that says why it
// cannot say it. A reference has a kind.
func Reference(obj runtime.Object, scheme Scheme) (ref corev1.ObjectReference, err error) {
	defer Catch(obj, &err)
	if isnil.Is(obj) {
		return ref, errors.New("the object is nil")
	}
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
		if isnil.Is(scheme) {
			return ref, fmt.Errorf("%T carries no kind: set Options.Scheme, or the object's TypeMeta", obj)
		}
		known, _, _ := scheme.ObjectKinds(obj)
		if len(known) == 0 {
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

// Check says what the API server would refuse.
func Check(eventtype, reason, action string, annotations map[string]string) error {
	isType := eventtype == corev1.EventTypeWarning || eventtype == corev1.EventTypeNormal
	switch {
	case !isType:
		return fmt.Errorf("event type %.20q of reason %.40q is not accepted; want Normal or Warning",
			eventtype, reason)
	case reason == "" || len(reason) > MaxName:
		return fmt.Errorf("reason %.40q has %d bytes; want 1 to %d", reason, len(reason), MaxName)
	case len(action) > MaxName:
		return fmt.Errorf("action %.40q of reason %.40q has %d bytes; want at most %d",
			action, reason, len(action), MaxName)
	case len(annotations) > maxAnnotations:
		return fmt.Errorf("there are %d annotations; want at most %d", len(annotations), maxAnnotations)
	}
	for name := range annotations {
		problems := validation.IsQualifiedName(strings.ToLower(name))
		if len(problems) > 0 {
			return fmt.Errorf("annotation key %.80q is not accepted; "+
				"want a qualified name such as agents.example.com/run", name)
		}
	}
	return nil
}
