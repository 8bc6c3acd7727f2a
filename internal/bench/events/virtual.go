// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// scenario is what happens to a recorder in virtual time: it stands still while anything runs, and passes at once when all
// wait, so that unmodified code of ours and of client-go goes through hours in seconds.
type scenario struct {
	name string
	// server returns how the API server answers from now on; nil takes each write at once.
	server func() func(group string) error
	// record records failures, and returns how many objects must have an Event in the end.
	record func(fail func(o *corev1.ConfigMap, note string)) (objects int)
	// after passes between the last failure and the end of the process.
	after time.Duration
}

// outcome is what became of it.
type outcome struct {
	Writes int
	Lost   int // objects without an Event
	Most   int // requests at once
}

// playing is the environment variable by which a child is told the scenario and the way.
const playing = "BENCH_PLAY"

// play plays the scenario with a way, once, in a child: virtual time is to be had in a test alone, which wants its process
// for itself.
func (sc scenario) play(ctx context.Context, w way) func() (outcome, error) {
	return sync.OnceValues(func() (out outcome, err error) {
		self, err := os.Executable()
		if err != nil {
			return out, err
		}
		var stdout bytes.Buffer
		cmd := exec.CommandContext(ctx, self)
		cmd.Env = append(os.Environ(), playing+"="+sc.name+"|"+w.name)
		cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return out, fmt.Errorf("%s: %w: %s", sc.name, err, stdout.String())
		}
		// What the test says of itself comes after it. A child that did not play has said nothing else.
		return out, json.NewDecoder(&stdout).Decode(&out)
	})
}

// child plays what it is told to and prints the outcome.
func child(what string) {
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: what, F: func(t *testing.T) {
			t.Helper()
			name, by, _ := strings.Cut(what, "|")
			scenarios := all()
			sc := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
			w := slices.IndexFunc(ways, func(w way) bool { return w.name == by })
			if sc < 0 || w < 0 {
				t.Fatal("unknown")
			}
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				out, err := scenarios[sc].run(t.Context(), ways[w])
				if err == nil {
					err = json.NewEncoder(os.Stdout).Encode(out)
				}
				if err != nil {
					t.Fatal(err)
				}
			})
		},
	}}, nil, nil)
}

func (sc scenario) run(ctx context.Context, w way) (outcome, error) {
	s := newStore()
	if sc.server != nil {
		s.answer = sc.server()
	}
	s.objects = map[string]struct{}{}
	r, err := w.start(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	want := sc.record(r.fail)
	pass(sc.after)
	writes := s.writes()
	r.stop()
	// Here the process would end: what goroutines that were left behind may still write does not count.
	out := outcome{writes, want - s.stored(), s.peak()}
	pass(time.Hour) // for them to end
	return out, nil
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// storm fails each of n objects every period, rounds times. The API is as fast as can be, and no queue overflows: all
// pauses are those of the recorder. The resourceVersion moves if the controller writes the objects' status.
func storm(n, rounds int, period time.Duration, moves bool, note func(round int) string) func(func(*corev1.ConfigMap, string)) int {
	return func(fail func(*corev1.ConfigMap, string)) int {
		all := objects(n)
		for round := range rounds {
			for i, o := range all {
				if moves {
					o.ResourceVersion = strconv.Itoa(round)
				}
				fail(o, note(round))
				if i%batch == batch-1 {
					synctest.Wait()
				}
			}
			pass(period)
		}
		return n
	}
}

// burst fails n objects at once, pause apart.
func burst(n int, pause time.Duration) func(func(*corev1.ConfigMap, string)) int {
	return func(fail func(*corev1.ConfigMap, string)) int {
		for _, o := range objects(n) {
			fail(o, note)
			if pause > 0 {
				pass(pause)
			}
		}
		return n
	}
}
