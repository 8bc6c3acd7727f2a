// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netns

import (
	"context"
	"errors"
)

// Again is an error: only Linux has network namespaces.
func Again(context.Context) (int, error) {
	return 1, errors.New("netns: only Linux has network namespaces; " +
		"run the suite there, in a container for example")
}

// Up does nothing.
func Up() error { return nil }
