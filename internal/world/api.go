// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// API is the connection of one process to the cluster: its requests, and its
// caches. It belongs to the goroutine of the reconcile.
type API struct {
	life     []entry // of the process, from its start
	at       int     // the entry that is played
	caches   []*Object
	unseen   []Change
	read     []uint64 // what the call has read from the caches, as hashes
	versions []*Object
	pending  *pending
	broken   error // the code under test is not deterministic
}

// pending is a request whose answer is not decided yet.
type pending struct {
	Request

	deadline time.Time // of its context; zero is none
}

// entry is what happened to a process: a call of Reconcile began, or the answer
// to a request arrived.
type entry struct {
	now     time.Time
	caches  []*Object // what the caches showed then
	unseen  []Change  // what they did not show yet
	request string    // empty: a call began
	answer  Answer
}

// Do sends a request and waits for its answer.
func (a *API) Do(ctx context.Context, r Request) (Answer, error) {
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	a.at++
	if a.at == len(a.life) {
		deadline, _ := ctx.Deadline()
		a.pending = &pending{r, deadline}
		runtime.Goexit()
	}
	next := a.life[a.at]
	if next.request != r.String() {
		a.broken = fmt.Errorf("the same answers led to two requests, %q and %q", next.request, r)
		runtime.Goexit()
	}
	time.Sleep(time.Until(next.now)) //nolint:forbidigo // in a bubble of testing/synctest
	a.caches = next.caches
	a.unseen = next.unseen
	deadline, ok := ctx.Deadline()
	if ok && !deadline.After(time.Now()) {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	return next.answer, next.answer.Err
}

// Cached returns the object that the cache shows, or a NotFound error.
func (a *API) Cached(key Key) (*Object, error) {
	o := find(a.caches, key)
	if o == nil {
		a.saw(hashOf("none", key.String()))
		return nil, apierrors.NewNotFound(Request{Key: key}.groupResource(), key.Name)
	}
	a.saw(o.content)
	a.versions = append(a.versions, o)
	return o, nil
}

// CachedList returns the objects of a resource that the cache shows, in all
// namespaces.
func (a *API) CachedList(resource string) []*Object {
	list := slices.DeleteFunc(slices.Clone(a.caches), func(o *Object) bool { return o.Resource != resource })
	for _, o := range list {
		a.saw(o.content)
	}
	a.versions = append(a.versions, list...)
	return list
}

// IsUnseen reports whether the cache does not show this version of an object
// yet, nor a later one.
func (a *API) IsUnseen(o *Object) bool {
	for _, c := range a.unseen {
		if c.After != nil && c.After.UID == o.UID && c.After.version >= o.version {
			a.saw(1)
			return true
		}
	}
	a.saw(0)
	return false
}

func (a *API) saw(content uint64) { a.read = append(a.read, content) }

func hashOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, text := range texts {
		_, _ = h.Write([]byte(text))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}
