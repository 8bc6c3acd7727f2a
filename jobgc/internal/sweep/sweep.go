// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sweep is how the sweeper of package expire looks again and again, and
// acts on a few objects each time.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Object is what a sweep acts on.
type Object interface{ GetUID() types.UID }

// Loop calls once immediately, and again after each wait that it returns, until
// ctx ends.
func Loop(ctx context.Context, once func() (wait time.Duration)) {
	for {
		wait := once()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// maxErrors is how many failures the error of a sweep has in full.
const maxErrors = 5

// Each calls act for at most limit of the due objects, which the turns select.
// A failure does not stop the others, and the end of ctx does. The error has
// the first few failures, and the number of the rest.
func Each[T Object](ctx context.Context, turns *Turns, due []T, limit int, act func(T) error) error {
	var errs []error
	more := 0
	for _, object := range next(turns, due, limit) {
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
		err := act(object)
		if err == nil {
			continue
		}
		if len(errs) == maxErrors {
			more++
			continue
		}
		errs = append(errs, err)
	}
	if more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}
