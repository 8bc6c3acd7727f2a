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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spare is how many goroutines a controller may have more than a fresh one: connections that are kept for a while.
const spare = 6

// fresh are the goroutines of a controller that no harm was done to, by where they were started.
var fresh struct {
	sync.Once

	stacks map[string]int
}

// goroutines ends the controller, and holds the goroutines that it has then against those of a fresh one. The example counts none in its
// metrics, and the threads of the process say nothing of them: the Go runtime lists them itself when it is asked to quit.
func (w *world) goroutines(t *testing.T) int {
	t.Helper()
	stacks, err := w.process.Dump(t.Context())
	require.NoError(t, err)
	left := byOrigin(string(stacks))
	fresh.Do(func() {
		p := launch(t, program, w.config, []string{"--namespaces=" + w.Namespace})
		stacks, err := p.Dump(t.Context())
		require.NoError(t, err)
		fresh.stacks = byOrigin(string(stacks))
	})
	var grown []string
	for _, origin := range slices.Sorted(maps.Keys(left)) {
		if more := left[origin] - fresh.stacks[origin]; more > 0 {
			grown = append(grown, fmt.Sprintf("%+d %s", more, origin))
		}
	}
	assert.LessOrEqual(t, sum(left), sum(fresh.stacks)+spare, "goroutines have grown:\n%s", strings.Join(grown, "\n"))
	return sum(left)
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
