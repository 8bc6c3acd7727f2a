// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status writes Kubernetes status under one contract.
package status
