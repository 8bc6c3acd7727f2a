// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"testing"

	"github.com/proompteng/controllerkit/rollout"
)

func BenchmarkRenderOff(b *testing.B) {
	d := agents()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rollout.Render(d, false, rollout.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	d := agents()
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := rollout.Convert(d, rollout.Options{}); errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkConvertAndMarshal(b *testing.B) {
	d := agents()
	b.ReportAllocs()
	for b.Loop() {
		r, _ := rollout.Convert(d, rollout.Options{})
		if _, err := json.Marshal(r); err != nil {
			b.Fatal(err)
		}
	}
}
