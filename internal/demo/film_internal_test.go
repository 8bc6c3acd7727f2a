// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilm_IsAnSVGThatEndsWithTheLastFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(film)
		s := f.screen()
		for _, phase := range []string{"(created)", "Running", "R&D <script>", "Succeeded"} {
			s.draw(func(width int, coloured bool) []string {
				return render([]row{{name: "happy", phase: phase, tone: good}}, "a note", width, coloured)
			})
			<-time.After(400 * time.Millisecond)
		}
		svg := string(f.svg())
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, svg)
		}
		assert.NotContains(t, svg, "Running", "a frame less than half a second after the previous one is dropped")
		assert.NotContains(t, svg, "<script>")
		assert.Contains(t, svg, `<tspan class="c32">Succeeded</tspan>`)
		groups := strings.Split(svg, "<g")
		require.Len(t, groups, 4, "three frames")
		assert.Contains(t, groups[1], `visibility="hidden"><set attributeName="visibility" to="visible" begin="loop.begin+0.0s" dur="0.8s"/>`)
		assert.Contains(t, groups[2], `begin="loop.begin+0.8s" dur="0.4s"/>`)
		assert.True(t, strings.HasPrefix(groups[3], "><animate"), "the last frame is visible where nothing is animated")
		assert.Contains(t, groups[3], `dur="6.2s"`)
	})
}
