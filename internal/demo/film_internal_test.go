// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilm(t *testing.T) {
	f := new(film)
	f.add(time.Second, "  1.0s  é  9 of 50  R&D <script>")
	f.add(2*time.Second, strings.Repeat("x", 200))
	for n := range filmRows {
		f.add(time.Hour, fmt.Sprintf("line %d  0 of 50", n))
	}
	var svg strings.Builder
	require.NoError(t, f.write(&svg))
	for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, svg.String())
	}
	for reason, want := range map[string]string{
		"A column is a character, and a text is not markup.": `<text y="20"><tspan x="24">1.0s</tspan><tspan x="72">é</tspan>` +
			`<tspan x="96" class="bad">9 of 50</tspan><tspan x="168">R&amp;D &lt;script&gt;</tspan></text>`,
		"A line is cut.":                           "x…</tspan>" + `<set attributeName="visibility" to="hidden" begin="loop.begin" dur="1.0s"/>`,
		"A long pause is cut.":                     `<tspan x="72" class="good">0 of 50</tspan><set attributeName="visibility" to="hidden" begin="loop.begin" dur="3.0s"/>`,
		"The last lines are shown.":                `<g transform="translate(0 -40)">`,
		"The lines move when the picture is full.": `values="0 0;0 0;`,
		"The last line stays for some time.":       `dur="8.0s"`,
		"Each move has its moment.":                `keyTimes="0.0000;0.1250;0.3750;`,
	} {
		assert.Contains(t, svg.String(), want, reason)
	}
}
