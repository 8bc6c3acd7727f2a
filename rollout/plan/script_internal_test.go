// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package plan

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestScript_QuotesEachValue: a value of an object stays one word, a comment or
// a line of the manifest.
func TestScript_QuotesEachValue(t *testing.T) {
	for _, evil := range []string{`$(echo RAN)`, "`echo RAN`", `'; echo RAN; '`, "a\necho RAN\n", `"$(echo RAN)"`, "\nEOF\necho RAN"} {
		p := Plan{kubectl: kubectl(evil, evil), header: []string{evil}, Warnings: []string{evil}}
		op := Op{Object: evil, terms: terms{Fields: evil, Want: evil, Template: evil, Other: evil, Else: evil, Manager: evil}}
		op.Body = "a: |\n  " + strings.ReplaceAll(evil, "\n", "\n  ") + "\n"
		for _, verb := range []string{check, apply, patch, wait, remove} {
			op.Verb = verb
			p.Steps = append(p.Steps, Step{Do: evil, Op: op})
		}
		p.undo = []Op{op}
		for i := range p.Steps {
			p := p
			p.Steps = p.Steps[i : i+1]
			sh := exec.CommandContext(t.Context(), "sh", "-c", "kubectl() { :; }; sleep() { exit 1; }\n"+p.String())
			out, _ := sh.CombinedOutput()
			for line := range strings.Lines(string(out)) {
				assert.NotEqual(t, "RAN\n", line, "%q\n%s", evil, p.String())
			}
			assert.NotContains(t, string(out), "yntax error", evil)
		}
	}
}

// TestCksum: the sums are what the command prints.
func TestCksum(t *testing.T) {
	assert.Equal(t, "4294967295 0", cksum(nil))
	assert.Equal(t, "930766865 9", cksum([]byte("123456789")))
	assert.Equal(t, "3999126958 1000", cksum(bytes.Repeat([]byte("x"), 1000)))
}

func TestScript_OfNoSteps(t *testing.T) {
	assert.Empty(t, Plan{}.String())
	broken := Plan{Steps: []Step{{Op: Op{Verb: "dance"}}}}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", broken.String()).CombinedOutput()
	require.Error(t, err, "a plan that cannot be printed does nothing")
	assert.Contains(t, string(out), "dance")
}
