// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statustest tests a controller against the contract of package status.
//
// [Check] compares two versions of an object's status: call it after each write
// in a property test of a whole controller. [Stamp] reads what it compares,
// from a typed or an unstructured object.
//
// A test of one Reconcile on a fake client does not need it: compare the status
// that it stores.
package statustest
