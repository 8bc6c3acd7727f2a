// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"hash/maphash"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// A write is remembered for rememberWrite, so that a restore of the API
// server's store, or a cache whose watch is dead, blocks an object no
// longer than that. A Writer and its copies remember maxWrites objects.
const (
	rememberWrite = 5 * time.Minute
	maxWrites     = 16384
)

// writes remembers the last write of each object. A Writer and its copies share
// it.
type writes struct {
	seed maphash.Seed

	mu   sync.Mutex
	last *recent[writeKey, lastWrite]
}

func newWrites() *writes {
	return &writes{seed: maphash.MakeSeed(), last: newRecent[writeKey, lastWrite](rememberWrite, maxWrites)}
}

// writeKey is one object and one writer of it: two controllers of one object
// may share a client, and each owns other conditions.
type writeKey struct {
	uid   types.UID
	owned uint64 // a hash of the owned types, whose order does not matter
}

// lastWrite describes the last write of an object.
type lastWrite struct {
	// newest is the newest version that the API server has returned. A copy
	// must not be older. Zero means none.
	newest uint64
	// unanswered is the version that a write without an answer was pinned to.
	// Zero means none.
	unanswered uint64
	// handed is the copy that Commit handed out with newest's status and the
	// version that was read. Zero means none.
	handed handedCopy
}

// handedCopy identifies a copy by its version and a hash of its status.
type handedCopy struct{ version, status uint64 }

// pending reports whether a copy of this version may be older than the write
// that got no answer, or that write may still happen. Neither is so if the
// object is known with a newer version than the write was pinned to.
func (l lastWrite) pending(version uint64) bool {
	return l.unanswered != 0 && max(l.newest, version) <= l.unanswered
}

func (w *writes) keyOf(uid types.UID, owned []string) writeKey {
	key := writeKey{uid: uid}
	for _, typ := range owned {
		key.owned += maphash.String(w.seed, typ)
	}
	return key
}

// get returns what is known of the last write; the zero lastWrite for nothing.
func (w *writes) get(key writeKey, now time.Time) lastWrite {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, _ := w.last.get(key, now)
	return last
}

// isEmpty reports whether no write is remembered.
func (w *writes) isEmpty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.last.elements) == 0
}

// answered remembers the version that the API server returned for a write that
// was pinned to another version. Without a uid or a version that is a number,
// it remembers nothing.
func (w *writes) answered(key writeKey, pinned, version uint64, handed handedCopy, now time.Time) {
	if key.uid == "" || version == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last, _ := w.last.get(key, now)
	if version >= last.newest {
		last.newest = version
		last.handed = handed
	}
	if pinned >= last.unanswered {
		last.unanswered = 0 // it can no longer happen; a fake may keep the version
	}
	w.last.put(key, last, now)
}

// lost remembers that a write got no answer.
func (w *writes) lost(key writeKey, pinned uint64, now time.Time) {
	if key.uid == "" || pinned == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last, _ := w.last.get(key, now)
	last.unanswered = max(last.unanswered, pinned)
	w.last.put(key, last, now)
}

// handedOf identifies the copy d.
func (w *writes) handedOf(d *document) handedCopy {
	return handedCopy{version: versionOf(d.object), status: maphash.Bytes(w.seed, encode(d.value()))}
}

// versionOf returns the resourceVersion of o; zero if it is not a number. The
// versions of an API server can be compared: see KEP-5504.
func versionOf(o Object) uint64 {
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// isUnanswered reports whether the API server may have done, or may still do,
// the request that failed with err. An answer that refuses the request says
// that it did not. A server error does not say it. Without a connection nothing
// was sent.
func isUnanswered(err error) bool {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		code := answer.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusRequestTimeout
	}
	var failed *net.OpError
	return !errors.As(err, &failed) || failed.Op != "dial"
}
