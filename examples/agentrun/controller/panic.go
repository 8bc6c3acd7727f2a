// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
)

// mostStack is how many bytes of a stack are logged.
const mostStack = 8 << 10

// recoverPanic makes a panic the error of the attempt. The value of a panic may
// hold anything, so only its type is logged.
func recoverPanic(log logr.Logger, err *error) {
	value := recover()
	if value == nil {
		return
	}
	*err = fmt.Errorf("the reconcile panicked with a %T", value)
	stack := debug.Stack()
	log.Error(*err, "Reconcile panicked", "stack", string(stack[:min(len(stack), mostStack)]))
}
