// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"

	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/internal/bench"
)

const oneRegexp = "one regexp"

// redacting measures the redactor on a note of one KiB without a credential,
// the normal case.
func redacting() bench.Measure {
	clean := strings.Repeat(note+" ", 1024/len(note)+1)[:1024]
	re := alternation()
	return bench.Measure{
		Name: "redact 1 KiB without secrets",
		Ours: bench.Subject{Do: bench.Each(func() error { redact.Text(clean); return nil })},
		Peers: []bench.Subject{
			{Name: oneRegexp, Do: bench.Each(func() error {
				re.ReplaceAllString(clean, redact.Mask)
				return nil
			})},
		},
		Gates: []bench.Gate{{Unit: bench.Nanos, Peer: oneRegexp, Limit: usual}},
	}
}

// alternation is a hand-written expression, compiled once, with a branch for
// each kind of credential. It finds the redactor's families in their common
// spellings. It cannot distinguish names and prose from credentials.
func alternation() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`://[^\s/@:]*:[^\s/@]+@`,                      // the user and password of a URL
		`(?i:bearer|basic) +[\w+/.~=-]{8}[\w+/.~=-]*`, // the value of an Authorization header
		`-----BEGIN [A-Z ]*PRIVATE KEY`,
		`(?:eyJ|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt|cbt)-|xox[abeprs]-|xapp-` +
			`|A(?:KIA|SIA|BIA|CCA)|AIza|ya29\.|GOCSPX-|sk-(?:ant|proj|svcacct)-|[sr]k_live_|npm_|pypi-` +
			`|hv[sbr]\.|dop_v1_|shpat_|SG\.|dckr_pat_|AGE-SECRET-KEY-1|sha256~` +
			`|glsa_|hf_|tskey-)[\w.-]+`, // tokens by their prefixes
		`(?i:passw(?:or)?d|pwd|passphrase|secret|token|api[-_]?key|(?:access|private|secret)[-_]?key` +
			`|credentials?|signature|sig|cookie)` +
			`["']? *[=:] *["']?[^\s"',&]+`, // a sensitive key and its value
	}, "|"))
}
