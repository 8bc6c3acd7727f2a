// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

func stopPlane(bool) error { return nil }
