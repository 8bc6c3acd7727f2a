// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"reflect"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// position is whether a store has seen the creation of a Job.
type position int

const (
	unknown position = iota // a version is absent or opaque: nothing can be said
	behind                  // the creation is still to come
	passed                  // the creation has been seen: a Job that is absent is gone
)

// store reads Jobs from an informer's store.
type store struct {
	getByKey func(key string) (item any, exists bool, err error)
	version  func() string // nil before client-go v0.36

	mu   sync.RWMutex
	keys map[types.NamespacedName]string // bounded; saves an allocation on every Inspect
}

const maxKeys = 4096

// keyed is what a store must have. The stores of client-go's informers have it.
type keyed interface {
	GetByKey(key string) (item any, exists bool, err error)
}

// storeOf finds the store of an informer; nil if there is none. GetStore
// returns a type of client-go, so that no interface written here can name it,
// and the informer interface of controller-runtime leaves it out.
func storeOf(informer any) *store {
	if isnil.Is(informer) {
		return nil
	}
	if s, ok := informer.(keyed); ok {
		return newStore(s)
	}
	if m := reflect.ValueOf(informer).MethodByName("GetStore"); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
		if s, ok := reflect.TypeAssert[keyed](m.Call(nil)[0]); ok {
			return newStore(s)
		}
	}
	return nil
}

// registrar returns what adds a handler to an informer; nil if it takes none.
// AddEventHandler takes an interface of client-go, which no interface written
// here can name.
//
// The function says whether the handler has received all Jobs that the informer
// first listed.
func registrar(informer, handler any) func() (synced func() bool, err error) {
	if isnil.Is(informer) {
		return nil
	}
	m := reflect.ValueOf(informer).MethodByName("AddEventHandler")
	if !m.IsValid() || m.Type().NumIn() != 1 || m.Type().NumOut() != 2 ||
		m.Type().In(0).Kind() != reflect.Interface || !reflect.TypeOf(handler).Implements(m.Type().In(0)) {
		return nil
	}
	return func() (synced func() bool, err error) {
		out := m.Call([]reflect.Value{reflect.ValueOf(handler)})
		if err, failed := reflect.TypeAssert[error](out[1]); failed {
			return nil, fmt.Errorf("jobgc: new: add an event handler to the informer: %w", err)
		}
		if r, ok := reflect.TypeAssert[interface{ HasSynced() bool }](out[0]); ok {
			return r.HasSynced, nil
		}
		return func() bool { return true }, nil
	}
}

// eventStore keeps the Jobs that an informer's events bring. It serves an
// informer without a store.
type eventStore struct {
	mu   sync.RWMutex
	jobs map[string]*batchv1.Job
}

// GetByKey returns the Job of a key.
func (e *eventStore) GetByKey(key string) (item any, exists bool, err error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	job, ok := e.jobs[key]
	return job, ok, nil
}

func (e *eventStore) put(obj any) {
	if job, ok := obj.(*batchv1.Job); ok && e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.jobs[job.Namespace+"/"+job.Name] = job
	}
}

func (e *eventStore) remove(job *batchv1.Job) {
	if job != nil && e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.jobs, job.Namespace+"/"+job.Name)
	}
}

func newStore(s keyed) *store {
	out := &store{getByKey: s.GetByKey, keys: map[types.NamespacedName]string{}}
	if v, ok := s.(interface{ LastStoreSyncResourceVersion() string }); ok {
		out.version = v.LastStoreSyncResourceVersion
	}
	return out
}

// get returns the Job that the store has under the name of ref, or nil, and the
// position of the store.
//
// get reads the version before it looks up the Job. In the opposite order, a
// creation between the two would make the store appear past a Job that the
// lookup came too early for: 8 of 600 Jobs went falsely missing that way.
func (s *store) get(ref Ref) (*batchv1.Job, position, error) {
	at := unknown
	if s.version != nil && ref.ResourceVersion != "" {
		if older, ok := olderVersion(s.version(), ref.ResourceVersion); ok {
			at = passed
			if older {
				at = behind
			}
		}
	}
	item, exists, err := s.getByKey(s.key(ref))
	if err != nil {
		return nil, unknown, fmt.Errorf("%s/%s: store: %w", ref.Namespace, ref.Name, err)
	}
	if !exists {
		return nil, at, nil
	}
	job, ok := item.(*batchv1.Job)
	if !ok || job == nil {
		return nil, unknown, fmt.Errorf("%s/%s: the store holds %T, want *v1.Job of batch", ref.Namespace, ref.Name, item)
	}
	if job.UID == "" {
		return nil, unknown, fmt.Errorf("%s/%s: the store holds a Job without a uid", ref.Namespace, ref.Name)
	}
	return job, at, nil
}

func (s *store) key(ref Ref) string {
	n := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	s.mu.RLock()
	key, ok := s.keys[n]
	s.mu.RUnlock()
	if ok {
		return key
	}
	key = ref.Namespace + "/" + ref.Name
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) >= maxKeys {
		clear(s.keys)
	}
	s.keys[n] = key
	return key
}
