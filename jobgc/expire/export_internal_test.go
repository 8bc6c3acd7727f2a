// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

// SetMost sets how many deletions a sweep makes.
func SetMost(s *Sweeper, most int) { s.most = most }
