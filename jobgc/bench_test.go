// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package jobgc_test

import "testing"

func BenchmarkInspect(b *testing.B) {
	for name, tc := range looks(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tc.guard.Inspect(b.Context(), tc.ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
