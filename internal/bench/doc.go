// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the library beside its peers, in one process and in turns, so that the ratios hold on any
// machine, however busy it is.
//
// Each folder below with a go.mod is a group: a program whose main hands its [Group] to [Main]. A group "status" or
// "status-something" belongs to the package status; a second one is needed only for peers whose versions do not agree.
//
// A [Measure] is one job that ours and the peers do. Peers are used as a good engineer would use them, and a comment
// says why so. How it is measured:
//
//   - time is CPU time of the whole process, with garbage collection and background goroutines: what the job costs,
//     not how busy the machine is. Each round gives every subject its turn, beginning with another one each time; the
//     median of the rounds counts.
//   - allocations and bytes are exact counts on one processor, the least of three passes.
//   - requests, and whatever else is counted rather than timed, come from the subject.
//
// A [Gate] is a limit on our own number, or on the ratio ours/peer. [Rows] makes the table of it, and cmd/bench
// merges the tables of the groups into RESULTS.md and results.tsv.
package bench
