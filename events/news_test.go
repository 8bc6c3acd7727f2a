// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// noises are texts of one cause that are different each time.
func noises() map[string]func(i int) string {
	return map[string]func(i int) string{
		"Duration": func(i int) string { return fmt.Sprintf("not ready after %v", time.Duration(i)*1300*time.Millisecond) },
		"Time": func(i int) string {
			return "certificate expired at " + time.Unix(int64(1700000000+i), 0).UTC().Format(time.RFC3339)
		},
		"Port":    func(i int) string { return fmt.Sprintf("read tcp 10.0.0.1:%d: connection reset", 32768+i%28000) },
		"Counter": func(i int) string { return fmt.Sprintf("attempt %d failed", i) },
		"UID":     func(i int) string { return fmt.Sprintf("run 0a1b2c3d-0000-4000-8000-%012d is invalid", i) },
		"List": func(i int) string {
			words := strings.Fields("alpha beta gamma delta epsilon zeta eta")
			random := rand.New(rand.NewPCG(uint64(i), 1))
			random.Shuffle(len(words), func(i, j int) {
				words[i], words[j] = words[j], words[i]
			})
			return fmt.Sprintf("missing %v", words)
		},
		"TwoTexts": func(i int) string { return [...]string{"one is missing", "two is missing"}[i%2] },
		"Pairs":    func(i int) string { return fmt.Sprintf("step %d failed", i/2) },
	}
}

// TestNoise_MakesAtMost40EventsAnHour with each kind of text, also where each
// error is terminal.
func TestNoise_MakesAtMost40EventsAnHour(t *testing.T) {
	for name, text := range noises() {
		for _, every := range []time.Duration{time.Second, 10 * time.Second, 61 * time.Second} {
			for kind, fail := range map[string]func(string) error{"Terminal": invalid, "Transient": errors.New} {
				t.Run(fmt.Sprintf("%s/%v/%s", name, every, kind), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { noisyHour(t, every, func(i int) error { return fail(text(i)) }) })
				})
			}
		}
	}
}

// noisyHour reports a failure in each period of an hour.
func noisyHour(t *testing.T, every time.Duration, fail func(i int) error) {
	t.Helper()
	s := &server{}
	rec, stop := start(t, s, events.Options{})
	for i := range int(time.Hour / every) {
		rec.Failure(object("a"), fail(i))
		time.Sleep(every)
	}
	assert.LessOrEqual(t, len(s.asked()), 40)
	assert.Less(t, time.Since(lastSeen(lastRow(s))), 10*time.Minute+2*every, "the last note is not older than a pause")
	require.NoError(t, stop())
	assertAccounts(t, rec)
}

// TestNews_AreWrittenAfterOnePauseAtMost: an hour after the cause has changed
// no Event is left to name the old one alone.
func TestNews_AreWrittenAfterOnePauseAtMost(t *testing.T) {
	for name, texts := range map[string][2]string{
		"Revision": {"image registry.example.com/a:7d4b9c6f5 not found", "image registry.example.com/a:5c8d7f9b6 not found"},
		"Digest":   {"digest a1b2c3d4e5f6a7b8 not found", "digest b2c3d4e5f6a7b8c9 not found"},
		"Pod":      {"pod run-x7k2p failed", "pod run-q9z4t failed"},
		"UUID":     {"tenant 0a1b2c3d-0000-4000-8000-000000000001 is unknown", "tenant 0a1b2c3d-0000-4000-8000-000000000002 is unknown"},
		"Date":     {"no backup of 20261124", "no backup of 20261125"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, _ := start(t, s, events.Options{})
				for i := range 2 * 360 {
					rec.Failure(object("a"), errors.New(texts[i/360]))
					time.Sleep(10 * time.Second)
					if i == 360+61 {
						assert.Equal(t, texts[1], s.all()[len(s.all())-1].Note)
					}
				}
				assert.Len(t, s.all(), 2)
				assert.LessOrEqual(t, len(s.asked()), 40)
			})
		})
	}
}
