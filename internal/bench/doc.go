// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench compares the library with its peers. Both run alternately in
// one process, so that the ratios hold on any machine, even a busy one.
//
// Each folder with a main.go is a group: a program whose main passes its
// [Group] to [Main]. It has the name of the package that it measures.
//
// A [Measure] is one job that the library and its peers do. Each peer is used
// as a good engineer would use it, with a comment that gives the reasons. How
// it is measured:
//
//   - time is CPU time of the whole process, with garbage collection and
//     background goroutines. It does not depend on the load of the machine. Each
//     round runs every subject once, in another order each time. The median of
//     the rounds counts.
//   - allocations and bytes are counts of whole numbers, and their medians too.
//   - requests and other counts come from the subject.
//
// A [Gate] is a limit on the library's number, or on its ratio to a peer.
// [Main] writes the measurements to results.json in the folder of the group,
// and the reports of all groups to RESULTS.md.
package bench
