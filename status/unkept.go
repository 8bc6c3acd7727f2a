// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// A difference that an object has lost is sent again after rememberUnkept, so
// that a repaired CRD or conversion webhook is believed. A Writer and its
// copies remember maxUnkept differences. A forgotten one costs one more write
// and one more error.
const (
	rememberUnkept = 10 * time.Minute
	maxUnkept      = 32768
)

// unkept remembers the fields of each object that the API server does not keep,
// because the CRD's schema prunes or defaults them, or a conversion webhook
// drops them. To send them again would change only updatedAt, in each
// reconcile.
type unkept struct {
	mu   sync.Mutex
	seen *recent[fieldKey, struct{}] // differences, and fields that an error has named
}

type fieldKey [sha256.Size]byte

func newUnkept() *unkept {
	return &unkept{seen: newRecent[fieldKey, struct{}](rememberUnkept, maxUnkept)}
}

// difference is a field with a value that was sent, and another that is stored.
type difference struct {
	path         string
	sent, stored any
	addsOnly     bool // stored is sent with more fields in elements of lists
}

// differences lists the fields that patch changes, with the values that stored
// has there.
func differences(patch, stored map[string]any) []difference {
	var list []difference
	leaves("", patch, stored, func(path string, sent, stored any) {
		if !reflect.DeepEqual(sent, stored) {
			list = append(list, difference{path: path, sent: sent, stored: stored})
		}
	})
	return list
}

// identify names an object of one version of its kind. Another version may have
// another schema.
func identify(o Object) string {
	return fmt.Sprintf("%T %s %s %s", o, o.GetObjectKind().GroupVersionKind(), o.GetUID(), nameOf(o))
}

// keyOf identifies a difference of an object. A schema prunes a field with each
// of its values, so they have one key. The field then reads as nil, or as zero
// in a Go type without omitempty. A zero that was sent has its own key: a
// server with omitempty leaves it out, and stores the other values.
func keyOf(object string, d difference) fieldKey {
	isUnset := d.stored == nil || isZero(d.stored)
	if isUnset && d.sent != nil && !isZero(d.sent) {
		d.sent = nil
		d.stored = nil
	}
	return sha256.Sum256(encode([]any{object, d.path, d.sent, d.stored}))
}

// namedKey identifies a field of an object that an error has named.
func namedKey(object, path string) fieldKey {
	return sha256.Sum256(encode([]any{object, path}))
}

func (u *unkept) isEmpty() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.seen.elements) == 0
}

// differ reports whether patch changes a field that the API server may keep.
func (u *unkept) differ(o Object, patch, stored map[string]any, now time.Time) bool {
	changes := differences(patch, stored)
	if u.isEmpty() {
		return len(changes) > 0
	}
	object := identify(o) // outside the lock, because o is the caller's
	var keys []fieldKey
	for _, d := range changes {
		keys = append(keys, keyOf(object, d))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(keys, func(key fieldKey) bool { return !u.knows(key, now) })
}

// knows is called with the lock.
func (u *unkept) knows(key fieldKey, now time.Time) bool {
	_, known := u.seen.get(key, now)
	return known
}

// learn compares the sent status with the stored one. It returns an error that
// names the fields that Commit set or cleared without effect, each of them once
// for an object until it is forgotten. A default of a field that was not sent
// is not an error, also in an element of a list.
func (u *unkept) learn(o Object, before, sent, stored map[string]any, now time.Time) error {
	lost := differences(mergePatch(stored, sent, false), stored)
	if len(lost) == 0 && u.isEmpty() {
		return nil
	}
	changes := differences(mergePatch(before, sent, false), before)
	for i, d := range lost {
		lost[i].addsOnly = covers(d.stored, d.sent)
	}
	paths := u.note(identify(o), changes, lost, now)
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	return fmt.Errorf("status: the API server did not keep %s as sent; "+
		"declare it in the CRD's schema without a default, stop setting it, "+
		"or for a field of the contract set its name, or \"-\" for none, in FieldNames",
		strings.Join(paths, ", "))
}

// note remembers what an object has lost, and returns the paths that no error
// has named.
func (u *unkept) note(object string, changes, lost []difference, now time.Time) (paths []string) {
	cleared := map[string]bool{}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, d := range changes {
		cleared[d.path] = d.sent == nil
		// The reply says again what is lost, or the schema was repaired.
		u.seen.drop(keyOf(object, d))
		u.seen.drop(keyOf(object, difference{path: d.path, sent: true}))
	}
	for _, d := range lost {
		key := keyOf(object, d)
		named := namedKey(object, d.path)
		isNew := !u.knows(key, now) && !u.knows(named, now)
		isLoss := cleared[d.path]
		if d.sent != nil {
			isLoss = !d.addsOnly
		}
		if isNew && isLoss {
			paths = append(paths, "status"+d.path)
			u.seen.put(named, struct{}{}, now)
		}
		u.seen.put(key, struct{}{}, now)
	}
	return paths
}
