// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statustest tests a kind and its client against the contract of
// package status.
//
// [Run] writes the status of objects as a controller does, also while another
// program writes, and checks what is stored. Each rule of the contract is a
// subtest, and a failure names the rule:
//
//	func TestStatus(t *testing.T) {
//		statustest.Run(t, statustest.Kind[*v1.Task]{Writer: writer, ...})
//	}
//
// The objects may be typed or unstructured. On a real API server, such as one
// of envtest, Run also tests the CRD: the server must keep each field, and a
// field that it does not keep, or that it has a default for, must not cause a
// write in each reconcile. A fake client cannot show all of this. Then a field of
// [Kind] has the reason, and Run logs what it leaves out.
//
// [Check] compares two versions of a status in tests of whole controllers, and
// [Stamp] reads what it compares.
package statustest
