// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// known reports whether w begins a token of a known family: it has the family's
// prefix, and enough bytes after it. If the prefix has no other meaning, a few
// bytes are enough, because parsers quote the beginning of the text that they
// could not parse.
func known(w string) bool {
	switch w[0] {
	case 'A':
		return begins(w, 2, "AGE-SECRET-KEY-1") || begins(w, 20, "AIza") || begins(w, 40, "ABSK") || random(w, 20, "ATATT3", "ATBB") ||
			exact(w, 16, isUpperAlnum, "AKIA", "ASIA", "ABIA", "ACCA") // AWS access key ids
	case 'C', 'H', 'N', 'P':
		return begins(w, 16, "CFPAT-", "HRKU-", "NRAK-", "PMAK-")
	case 'G':
		return begins(w, 4, "GOCSPX-")
	case 'L': // PEM as base64, unless it is a certificate or a public key
		return begins(w, 0, "LS0tLS1CRUdJTi") && !begins(w, 0, "LS0tLS1CRUdJTiBDRVJU", "LS0tLS1CRUdJTiBQVUJM") || random(w, 12, "LTAI")
	case 'M': // the DER of a private key as base64
		return len(w) > 8 && w[:3] == "MII" && w[6:9] == "IBA" ||
			begins(w, 0, "MHcCAQEEI", "MIGkAgEBBD", "MIGHAgEAMBMGByqGSM49", "MIG2AgEAMBAGByqGSM49", "MC4CAQAwBQYDK2Vw")
	case 'a', 'f', 'l':
		return begins(w, 16, "apify_api_", "figd_") || begins(w, 10, "lin_api_", "lsv2_pt_") || random(w, 20, "fm2_", "fo1_") ||
			exact(w, 16, isAlnum, "akia", "asia") && strings.ContainsAny(w, "234567")
	case 'd':
		return begins(w, 4, "dckr_pat_", "dckr_oat_", "dop_v1_", "doo_v1_", "dor_v1_") ||
			begins(w, 32, "dapi") && all(w[4:36], isHex) // Databricks
	case 'e':
		return begins(w, 7, "eyJ")
	case 'g':
		return begins(w, 4, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-") || begins(w, 8, "glsa_") || random(w, 20, "glc_", "gsk_") ||
			unlike(w, "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-", "glimt-")
	case 'h', 'n':
		return random(w, 20, "hf_", "npm_", "ntn_") || unlike(w, "nvapi-")
	case 'k': // Mailgun
		return exact(w, 32, isHex, "key-")
	case 'o', 'p':
		return begins(w, 4, "ops_eyJ", "pypi-AgEI", "pscale_tkn_", "pscale_pw_", "pscale_oauth_") || random(w, 30, "pul-") || random(w, 20, "pplx-", "phx_")
	case 'r':
		return begins(w, 8, "rk_live_", "rk_test_") || begins(w, 16, "rubygems_") || random(w, 20, "rdme_", "r8_")
	case 'S': // Twilio
		return exact(w, 32, isHex, "SK")
	case 's':
		return begins(w, 2, "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-", "sntrys_", "sntryu_") ||
			begins(w, 8, "sk_live_", "sk_test_", "shpat_", "shpca_", "shppa_", "shpss_", "sq0atp-", "sq0csp-") || random(w, 20, "sbp_", "sgp_") ||
			(random(w, 40, "sk-") || random(w, 43, "secret_")) && mixed(w) // OpenAI before projects, Notion
	case 't':
		return unlike(w, "tskey-auth-", "tskey-api-", "tskey-client-", "tskey-scim-", "tskey-webhook-")
	case 'w', 'x':
		return begins(w, 16, "whsec_", "xkeysib-") || begins(w, 4, "xapp-1-") || random(w, 30, "xai-") ||
			len(w) > 8 && w[:3] == "xox" && strings.IndexByte("abeprs", w[3]) >= 0 && w[4] == '-' && isDigit(w[5])
	}
	return false
}

// after returns the rest of w after the first of prefixes that it begins with.
func after(w string, prefixes ...string) (rest string, found bool) {
	for _, prefix := range prefixes {
		if rest, found = strings.CutPrefix(w, prefix); found {
			return rest, true
		}
	}
	return "", false
}

// begins reports whether w begins with one of prefixes and has at least so many
// bytes after it.
func begins(w string, least int, prefixes ...string) bool {
	rest, found := after(w, prefixes...)
	return found && len(rest) >= least
}

// random is begins for prefixes that ordinary names may have: letters and
// digits follow, without a separator.
func random(w string, least int, prefixes ...string) bool {
	rest, found := after(w, prefixes...)
	return found && len(rest) >= least && all(rest, isAlnum) && strings.ContainsAny(rest, digits)
}

// unlike is begins for prefixes that the names of objects may have: the rest
// has a byte that such a name cannot have, or is too long for a word.
func unlike(w string, prefixes ...string) bool {
	rest, _ := after(w, prefixes...)
	return len(rest) >= 8 && !all(rest, func(b byte) bool { return b < 'A' || b > 'Z' && b != '_' }) || random(w, 20, prefixes...)
}

// exact reports whether w is one of prefixes and so many bytes for which is
// reports true.
func exact(w string, length int, is func(byte) bool, prefixes ...string) bool {
	rest, _ := after(w, prefixes...)
	return len(rest) == length && all(rest, is)
}

// token returns the end of the token that begins with the word i..j, or 0.
func (c *scanner) token(i, j int) int {
	if j < len(c.s) && (c.s[j] == '.' || c.s[j] == '~') && c.dotted(i, j) {
		return c.tokenEnd(j)
	}
	if j-i < 8 || !known(c.s[i:j]) {
		return 0
	}
	const keyID, secret = 20, 40 // AWS
	if j-i == keyID && j < len(c.s) && strings.IndexByte(":,|", c.s[j]) >= 0 && c.tokenEnd(j+1) == j+1+secret {
		return j + 1 + secret
	}
	return c.tokenEnd(j)
}

// dotted reports whether the word i..j begins a token that continues after the
// dot or the tilde at j.
func (c *scanner) dotted(i, j int) bool {
	for _, t := range [...]struct {
		prefix string
		least  int // word bytes after it
	}{
		{"hvs.", 8}, {"hvb.", 8}, {"hvr.", 8}, // Vault
		{"ya29.", 8},                                                                                  // Google
		{"SG.", 16},                                                                                   // SendGrid
		{"sl.", 40},                                                                                   // Dropbox
		{"v1.0-", 98},                                                                                 // Cloudflare origin CA
		{"sha256~", 20},                                                                               // OpenShift
		{"dp.pt.", 0}, {"dp.st.", 0}, {"dp.ct.", 0}, {"dp.sa.", 0}, {"dp.scim.", 0}, {"dp.audit.", 0}, // Doppler
	} {
		if c.has(i, t.prefix) {
			from := i + len(t.prefix)
			return c.wordEnd(from) >= from+t.least
		}
	}
	w := c.s[i:j]
	switch {
	case c.has(i, "s."): // Vault before 1.10
		to := c.wordEnd(j + 1)
		return to == j+1+24 && mixed(c.s[j+1:to])
	case len(w) == 17 && strings.HasPrefix(w, "pat"): // Airtable
		return c.wordEnd(j+1) == j+1+64
	case len(w) == 14 && c.has(j, ".atlasv1."): // Terraform Cloud
		return true
	}
	// A client secret of Entra ID: three bytes, a digit, "Q~" and 31 more.
	return len(w) >= 5 && w[len(w)-1] == 'Q' && isDigit(w[len(w)-2]) && c.s[j] == '~' && c.tokenEnd(j) >= j+32
}

// tokenEnd returns the end of the token bytes at i.
func (c *scanner) tokenEnd(i int) int { return c.run(i, len(c.s), isToken) }

// privateKey masks a PEM block with a private key. If the block has no end, it
// masks the rest of the text. The word i..j ends with the mark that begins the
// block.
func (c *scanner) privateKey(i, j int) int {
	const begin, end, longestLabel = "-----BEGIN", "-----END", 48
	if !strings.HasSuffix(c.s[i:j], begin) {
		return 0
	}
	c.looked += longestLabel
	if !strings.Contains(c.s[j:min(j+longestLabel, len(c.s))], "PRIVATE KEY") {
		return 0
	}
	to := len(c.s)
	if n := strings.Index(c.s[j:], end); n >= 0 {
		to = j + n + len(end)
		if m := strings.Index(c.s[to:min(to+longestLabel, len(c.s))], "-----"); m >= 0 {
			to += m + len("-----")
		}
	}
	c.looked += to - j
	from := j - len(begin)
	if w := strings.TrimLeft(c.s[i:from], "-_"); len(w) >= 8 && known(w) {
		from = i
	}
	c.mask(from, to)
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

// mixed reports whether s has a digit, an upper and a lower case letter. Random
// text has all three. Names do not.
func mixed(s string) bool {
	return strings.ContainsAny(s, digits) && strings.ContainsAny(s, upper) && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz")
}
