// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netns runs a test suite in a separate network namespace that has only
// a loopback interface.
//
// Some programs, such as the controller of Argo Rollouts, listen on every
// address and have no flag to change that. In a namespace with only a loopback,
// programs outside cannot reach such a listener, and programs inside reach
// nothing outside. A suite runs itself again in such a namespace, with every
// program that it starts:
//
//	if !netns.Alone() {
//		os.Exit(netns.Again(ctx)) // builds and downloads come before this
//	}
//
// # When not to use it
//
// Do not use it if every program has a flag for its address. Package
// controlplane listens on the loopback already.
package netns

import "net"

// Alone reports whether the only interface is the loopback. Programs outside
// cannot reach a listener on every address then.
func Alone() bool {
	interfaces, err := net.Interfaces()
	if err != nil {
		return false
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return false
		}
	}
	return true
}
