// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart tests examples/chart: the manifests that helm renders, and
// their use by the API server and the example.
//
// Only this suite proves that every value of the chart is checked and has its
// effect, and that the chart grants exactly the rights that the example uses.
package chart
