// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/internal/notfound"
)

// stored is the owner in the API server.
type stored struct {
	owner metav1.Object // nil: it is gone
	ref   Ref
	done  bool
}

// readOwner calls Request.Stored.
func (c *call) readOwner(ctx context.Context) (stored, error) {
	owner, ref, done, err := c.req.Stored(ctx)
	want := c.req.Owner
	gone, err := notfound.Is(err, schema.GroupResource{}, want.GetName())
	if gone {
		return stored{}, nil
	}
	if err != nil {
		return stored{}, fmt.Errorf("Request.Stored: %w", err)
	}
	if isnil.Is(owner) {
		return stored{}, errors.New("Request.Stored returned neither an owner nor an error")
	}
	switch {
	case owner.GetNamespace() != want.GetNamespace(), owner.GetName() != want.GetName(), owner.GetUID() == "":
		return stored{}, fmt.Errorf("Request.Stored returned %s/%s with the uid %q, want %s/%s and a uid",
			owner.GetNamespace(), owner.GetName(), owner.GetUID(), want.GetNamespace(), want.GetName())
	case owner.GetUID() != want.GetUID():
		return stored{}, nil // the owner is gone, and another object has its name
	}
	return stored{owner, ptr.Deref(ref, Ref{}), done}, nil
}

// isLate reports whether the caller's copy of the owner differs from the stored
// one in what Step decides by.
func (c *call) isLate(ctx context.Context) (bool, error) {
	s, err := c.readOwner(ctx)
	if err != nil {
		return false, err
	}
	mine := c.req.Owner
	switch {
	case s.owner == nil:
		return true, nil
	case s.owner.GetGeneration() != mine.GetGeneration():
		return true, nil
	case s.owner.GetGeneration() == 0 && s.owner.GetResourceVersion() != mine.GetResourceVersion():
		return true, nil // a kind without a generation, such as a ConfigMap
	case s.owner.GetDeletionTimestamp().IsZero() != mine.GetDeletionTimestamp().IsZero():
		return true, nil
	case s.ref.UID != c.recorded.UID, s.ref.Outcome != c.recorded.Outcome, s.done != c.req.Done:
		return true, nil
	}
	return false, nil
}

// isRecorded reports whether the API server has the end of the run, or has no
// owner that waits for it.
func (c *call) isRecorded(ctx context.Context) (bool, error) {
	s, err := c.readOwner(ctx)
	if err != nil {
		return false, err
	}
	return s.owner == nil || s.done || s.ref.Outcome != "", nil
}
