// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
)

// recoverPanic makes a panic the error of the attempt. The value of a panic may
// hold anything, so only its type is logged.
func recoverPanic(log logr.Logger, err *error) {
	value := recover()
	if value == nil {
		return
	}
	*err = fmt.Errorf("the reconcile panicked with a %T", value)
	log.Error(*err, "Reconcile panicked", "stack", string(debug.Stack()))
}
