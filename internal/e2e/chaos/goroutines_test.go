// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spare is how many goroutines a controller may have above a fresh one, for
// connections that stay open for a while.
const spare = 6

// fresh has the goroutines of healthy controllers, by their flags without the
// namespace, and by the function that started them.
var fresh struct {
	sync.Mutex

	stacks map[string]map[string]int
}

// goroutines ends the controller and compares its goroutines with a fresh
// controller's. The example's metrics do not count them, and threads do not
// show them. The Go runtime lists them on SIGQUIT.
func (w *world) goroutines(t *testing.T) int {
	t.Helper()
	stacks, err := w.process.Dump(t.Context())
	require.NoError(t, err)
	left := byOrigin(string(stacks))
	usual := w.freshOnes(t)
	var grown []string
	for _, origin := range slices.Sorted(maps.Keys(left)) {
		if more := left[origin] - usual[origin]; more > 0 {
			grown = append(grown, fmt.Sprintf("%+d %s", more, origin))
		}
	}
	assert.LessOrEqual(t, sum(left), sum(usual)+spare, "goroutines have grown:\n%s", strings.Join(grown, "\n"))
	return sum(left)
}

// freshOnes returns the goroutines of a new controller with the same flags:
// each sweep of --hold-jobs has goroutines.
func (w *world) freshOnes(t *testing.T) map[string]int {
	t.Helper()
	fresh.Lock()
	defer fresh.Unlock()
	flags := strings.Join(w.args[1:], " ")
	if fresh.stacks[flags] == nil {
		p := launch(t, program, w.config, w.args)
		wait(t.Context(), 2*time.Second) // until it has started everything
		stacks, err := p.Dump(t.Context())
		require.NoError(t, err)
		if fresh.stacks == nil {
			fresh.stacks = map[string]map[string]int{}
		}
		fresh.stacks[flags] = byOrigin(string(stacks))
	}
	return fresh.stacks[flags]
}

// byOrigin counts the goroutines of a dump by the function that started them.
func byOrigin(stacks string) map[string]int {
	counts := map[string]int{}
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if !strings.HasPrefix(strings.TrimSpace(stack), "goroutine ") || strings.Contains(stack, "[syscall]") && strings.Contains(stack, "os/signal") {
			continue
		}
		origin := "main"
		if m := regexp.MustCompile(`created by (\S+)`).FindStringSubmatch(stack); m != nil {
			origin = m[1]
		}
		counts[origin]++
	}
	return counts
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
