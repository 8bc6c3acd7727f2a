// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilm(t *testing.T) {
	f := new(film)
	f.add(0, "  0.0s  é  R&D <script>")
	f.add(0, "")
	f.add(3*time.Second, "usual  9 of 50  0 of 16")
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
		"A column is a character, and a text is not markup. The first line is always visible.": `<text y="20"><tspan x="24">0.0s</tspan>` +
			`<tspan x="72">é</tspan><tspan x="96">R&amp;D &lt;script&gt;</tspan></text>`,
		"A line comes at its time, and a loss has a colour.": `<text y="60"><tspan x="8">usual</tspan><tspan x="64" class="bad">9 of 50</tspan>` +
			`<tspan x="136" class="good">0 of 16</tspan><set attributeName="visibility" to="hidden" begin="loop.begin" dur="3.0s"/></text>`,
		"All lines fit.":                     `viewBox="0 0 896 80"`,
		"The last line stays for some time.": `dur="8.0s"`,
	} {
		assert.Contains(t, svg.String(), want, reason)
	}
}
