// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/proompteng/controllerkit/events/redact"
)

// What a KiB costs: clean text, text with one leak, one long word.
func BenchmarkText(b *testing.B) {
	kib := func(s string) string { return strings.Repeat(s, 1024/len(s)+1)[:1024] }
	clean := kib(`reconcile of runs/run-1 failed: Get "https://10.96.0.1:443/api/v1/pods?limit=5": ` +
		`context deadline exceeded, `)
	for name, s := range map[string]string{
		"clean": clean,
		"leak":  clean[:900] + " postgres://app:" + "s3cr3t" + "@db:5432/app",
		"word":  kib("a"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(1024)
			for b.Loop() {
				redact.Text(s)
			}
		})
	}
}

func BenchmarkSecretValues(b *testing.B) {
	text := strings.Repeat("reconcile of runs/run-1 failed, ", 32)
	for _, n := range []int{10, 1000} {
		var secrets redact.SecretValues
		for i := range n {
			secrets.Add(fmt.Appendf(nil, "a secret value number %d", i))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				secrets.Redact(text)
			}
		})
		b.Run(fmt.Sprint(n, "-changing"), func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				secrets.Add(fmt.Appendf(nil, "another secret value %d", i))
				secrets.Redact(text)
			}
		})
	}
}
