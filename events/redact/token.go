// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// known reports whether w begins a token of a family: with its prefix, and with at least so many bytes after it. Where the
// prefix cannot be anything else few are enough, since parsers quote the beginning of what they could not parse.
func known(w string) bool {
	switch w[0] {
	case 'A':
		return begins(w, "AGE-SECRET-KEY-1", 2) || begins(w, "AIza", 20) || random(w, "ATATT3", 20) ||
			random(w, "ATBB", 24) || begins(w, "ABSK", 40)
	case 'C':
		return begins(w, "CFPAT-", 20)
	case 'G':
		return begins(w, "GOCSPX-", 4)
	case 'H':
		return begins(w, "HRKU-", 20)
	case 'L':
		return begins(w, "LS0tLS1CRUdJTi", 0) || random(w, "LTAI", 12)
	case 'N':
		return begins(w, "NRAK-", 16)
	case 'P':
		return begins(w, "PMAK-", 16)
	case 'a':
		return begins(w, "apify_api_", 16)
	case 'd':
		return begins(w, "dckr_pat_", 4) || begins(w, "dckr_oat_", 4) || begins(w, "dop_v1_", 4) ||
			begins(w, "doo_v1_", 4) || begins(w, "dor_v1_", 4)
	case 'e':
		return begins(w, "eyJ", 7)
	case 'f':
		return begins(w, "figd_", 16) || random(w, "fm2_", 20) || random(w, "fo1_", 20)
	case 'g':
		return begins(w, "ghp_", 4) || begins(w, "gho_", 4) || begins(w, "ghu_", 4) ||
			begins(w, "ghs_", 4) || begins(w, "ghr_", 4) || begins(w, "github_pat_", 4) ||
			begins(w, "glpat-", 4) || unlike(w, "gldt-") || unlike(w, "glrt-") ||
			unlike(w, "glptt-") || unlike(w, "glcbt-") || unlike(w, "glft-") ||
			unlike(w, "glsoat-") || unlike(w, "glimt-") || begins(w, "glsa_", 8) ||
			random(w, "glc_", 20) || random(w, "gsk_", 20)
	case 'h':
		return random(w, "hf_", 20)
	case 'l':
		return begins(w, "lin_api_", 10) || begins(w, "lsv2_pt_", 10)
	case 'n':
		return random(w, "npm_", 20) || random(w, "ntn_", 20) || unlike(w, "nvapi-")
	case 'o':
		return begins(w, "ops_eyJ", 4)
	case 'p':
		return begins(w, "pypi-AgEI", 4) || begins(w, "pscale_tkn_", 4) || begins(w, "pscale_pw_", 4) ||
			begins(w, "pscale_oauth_", 4) || random(w, "pul-", 30) || random(w, "pplx-", 20) ||
			random(w, "phx_", 20)
	case 'r':
		return begins(w, "rk_live_", 8) || begins(w, "rk_test_", 8) || begins(w, "rubygems_", 16) ||
			random(w, "rdme_", 20) || random(w, "r8_", 24)
	case 's':
		return begins(w, "sk-ant-", 2) || begins(w, "sk-proj-", 2) || begins(w, "sk-svcacct-", 2) ||
			begins(w, "sk-admin-", 4) || begins(w, "sk-or-v1-", 4) || begins(w, "sk_live_", 8) ||
			begins(w, "sk_test_", 8) || begins(w, "shpat_", 8) || begins(w, "shpca_", 8) ||
			begins(w, "shppa_", 8) || begins(w, "shpss_", 8) || begins(w, "sntrys_", 1) ||
			begins(w, "sntryu_", 1) || random(w, "sbp_", 20) || random(w, "sgp_", 20) ||
			begins(w, "sq0atp-", 8) || begins(w, "sq0csp-", 8)
	case 't':
		return unlike(w, "tskey-auth-") || unlike(w, "tskey-api-") || unlike(w, "tskey-client-") ||
			unlike(w, "tskey-scim-") || unlike(w, "tskey-webhook-")
	case 'w':
		return begins(w, "whsec_", 16)
	case 'x':
		return numbered(w, "xoxa-") || numbered(w, "xoxb-") || numbered(w, "xoxe-") ||
			numbered(w, "xoxp-") || numbered(w, "xoxr-") || numbered(w, "xoxs-") ||
			begins(w, "xapp-1-", 4) || random(w, "xai-", 30) || begins(w, "xkeysib-", 20)
	}
	return false
}

func begins(w, prefix string, least int) bool {
	return len(w) >= len(prefix)+least && w[:len(prefix)] == prefix
}

// random is begins for a prefix that ordinary names may have: no separators follow it, but digits do.
func random(w, prefix string, least int) bool {
	return begins(w, prefix, least) && all(w[len(prefix):], isAlnum) && strings.ContainsAny(w[len(prefix):], "0123456789")
}

// unlike is begins for a prefix that the names of objects may have: something follows that they may not.
func unlike(w, prefix string) bool {
	if !begins(w, prefix, 8) {
		return false
	}
	body := w[len(prefix):]
	return !all(body, func(b byte) bool { return b < 'A' || b > 'Z' && b != '_' }) || len(body) >= 40 && all(body, isHex)
}

// numbered is begins for Slack's prefixes: a number follows them.
func numbered(w, prefix string) bool {
	return begins(w, prefix, 4) && isDigit(w[len(prefix)])
}

// token returns the end of the token that begins at i, where a word begins that ends at j; 0 when it is none.
func (c *scanner) token(i, j int) int {
	w := c.s[i:j]
	if j < len(c.s) && (c.s[j] == '.' || c.s[j] == '~') && c.dotted(w, j) {
		return c.tokenEnd(j)
	}
	if len(w) < 8 {
		return 0
	}
	if known(w) || shaped(w) {
		return c.tokenEnd(j)
	}
	return 0
}

// shaped reports whether w has the one shape of its kind: tokens whose prefix alone says too little.
func shaped(w string) bool {
	switch w[0] {
	case 'A': // AWS access key ids
		return len(w) == 20 && (w[:4] == "AKIA" || w[:4] == "ASIA" || w[:4] == "ABIA" || w[:4] == "ACCA") && all(w, isUpperAlnum)
	case 'S': // Twilio keys
		return len(w) == 34 && w[1] == 'K' && all(w[2:], isHex)
	case 'd': // Databricks
		return len(w) >= 36 && w[:4] == "dapi" && all(w[4:36], isHex)
	case 'k': // Mailgun
		return len(w) == 36 && w[:4] == "key-" && all(w[4:], isHex)
	case 's':
		if len(w) >= 43 && w[:3] == "sk-" { // OpenAI, before there were projects
			return all(w[3:], isAlnum) && mixed(w[3:])
		}
		return len(w) >= 50 && w[:7] == "secret_" && all(w[7:], isAlnum) && mixed(w[7:]) // Notion
	}
	return false
}

// dotted reports whether w, which ends at j before a dot or a tilde, begins a token that goes on after it.
func (c *scanner) dotted(w string, j int) bool {
	after := j + 1
	body := func(from int) int { return c.wordEnd(from) - from }
	switch w {
	case "hvs", "hvb", "hvr", "ya29":
		return c.s[j] == '.' && body(after) >= 8
	case "SG":
		return c.s[j] == '.' && body(after) >= 16
	case "sl":
		return c.s[j] == '.' && body(after) >= 40
	case "s": // Vault, before 1.10
		n := body(after)
		return c.s[j] == '.' && n == 24 && mixed(c.s[after:after+n])
	case "v1": // Cloudflare origin CA
		return c.has(j, ".0-") && body(after) >= 100
	case "sha256": // OpenShift
		return c.s[j] == '~' && body(after) >= 20
	case "dp": // Doppler
		for _, kind := range [...]string{".pt.", ".st.", ".ct.", ".sa.", ".scim.", ".audit."} {
			if c.has(j, kind) {
				return c.s[j+len(kind)-1] == '.'
			}
		}
		return false
	}
	if len(w) == 17 && strings.HasPrefix(w, "pat") { // Airtable
		return body(after) == 64
	}
	return len(w) == 14 && c.has(j, ".atlasv1.") // Terraform Cloud
}

// tokenEnd is the end of the run of token bytes at i.
func (c *scanner) tokenEnd(i int) int {
	j := i
	for j < len(c.s) && isToken(c.s[j]) {
		j++
	}
	c.looked += j - i
	return j
}

// azureSecret masks a client secret of Entra ID: three bytes, a digit, "Q~" and 31 more. i is where the tilde stands.
func (c *scanner) azureSecret(i int) int {
	if c.key.to != i || i-c.key.from < 5 || c.s[i-1] != 'Q' || !isDigit(c.s[i-2]) {
		return i + 1
	}
	end := c.tokenEnd(i)
	if end-i < 32 {
		return end
	}
	c.mask(c.key.from, end)
	c.key = span{}
	return end
}

// privateKey masks a PEM block with a private key, up to the end of the text when the block has none. The word i..j ends
// with the mark of its beginning.
func (c *scanner) privateKey(i, j int) int {
	const begin, end = "-----BEGIN", "-----END"
	if j-i < len(begin) || c.s[j-1] != begin[len(begin)-1] || !strings.HasSuffix(c.s[i:j], begin) {
		return 0
	}
	c.looked += 64
	head := c.s[j:min(j+64, len(c.s))]
	if !strings.Contains(head, "PRIVATE KEY") {
		return 0
	}
	to := len(c.s)
	if n := strings.Index(c.s[j:], end); n >= 0 {
		to = j + n + len(end)
		if m := strings.Index(c.s[to:min(to+64, len(c.s))], "-----"); m >= 0 {
			to += m + len("-----")
		}
	}
	c.looked += to - j
	c.mask(j-len(begin), to)
	c.key = span{}
	return to
}

func all(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

func isAlnum(b byte) bool { return isWord(b) && b != '-' && b != '_' }

func isUpperAlnum(b byte) bool { return isDigit(b) || 'A' <= b && b <= 'Z' }

// mixed reports whether s holds a digit, an upper and a lower case letter, as random text does and names do not.
func mixed(s string) bool {
	var digit, upper, lower bool
	for i := range len(s) {
		switch b := s[i]; {
		case isDigit(b):
			digit = true
		case 'A' <= b && b <= 'Z':
			upper = true
		case 'a' <= b && b <= 'z':
			lower = true
		}
	}
	return digit && upper && lower
}
