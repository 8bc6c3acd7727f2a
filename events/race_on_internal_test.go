// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package events

const hasRaceDetector = true
