// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statustest tests a kind and its client against the contract of
// package status.
//
// [Run] writes the status of objects as a controller does, also while another
// program writes, and checks what is stored. Each rule of the contract is a
// subtest, and a failure names the rule:
//
//	func TestTask_KeepsTheStatusContract(t *testing.T) {
//		statustest.Run(t, statustest.Kind[*v1.Task]{
//			Writer: status.ForClient(c),
//			Patch:  patch, // a function that sends a merge patch with c
//			Create: func(t *testing.T) *v1.Task { return create(t, c) },
//			Get: func(ctx context.Context, task *v1.Task) (*v1.Task, error) {
//				return task, c.Get(ctx, client.ObjectKeyFromObject(task), task)
//			},
//			Set:      func(task *v1.Task, n int) { task.Status.Message = strconv.Itoa(n) },
//			Spec:     `{"image":"other"}`,
//			NoSchema: "the fake client has no schema",
//		})
//	}
//
// The objects may be typed or unstructured. On a real API server, such as one
// of envtest, Run also tests the CRD: the server must keep each field, and a
// field that it does not keep, or that it has a default for, must not cause a
// write in each reconcile. A fake client cannot show all of this. Then a field
// of [Kind] has the reason, and Run logs what it leaves out.
//
// [Check] compares two versions of a status in tests of whole controllers, and
// [Stamp] reads what it compares.
package statustest
