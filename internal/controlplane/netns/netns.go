// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netns runs a test suite in a network namespace of its own, in which there is nothing but its own loopback.
//
// Some programs listen on every address and have no flag against it, such as the controller of Argo Rollouts. In a namespace
// without any other interface every address is the loopback: nobody outside can reach what listens there, and nothing in
// there can reach out. A suite runs itself once more in one, with everything that it starts:
//
//	if !netns.Alone() {
//		os.Exit(netns.Again(ctx)) // builds and downloads come before this
//	}
//
// # When not to use it
//
// Where every program takes an address: package controlplane listens on the loopback by itself.
package netns

import "net"

// Alone reports whether there is no interface but the loopback: what listens on every address is then heard by nobody outside.
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
