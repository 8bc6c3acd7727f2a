// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
)

// isKept reports whether v, which has quotes or delimiters around it, is not a
// credential.
func (c *scanner) isKept(k kind, how strength, v string) bool {
	switch {
	case v == Mask || strings.Trim(v, "*:,.;") == "":
		return true
	case k == harmless:
		return false
	case strings.HasPrefix(v, "${") || strings.HasPrefix(v, "$(") || v[0] == '<' || v[0] == '%' && len(v) <= 3:
		return true
	case saysNothing(v), how != tight && isErrorCode(v), isPath(v), isDigest(v):
		return true
	case k == reference:
		return isName(v)
	}
	return isName(v) && (how == loose && k != password && strings.ContainsAny(v, "-./") && !isID(v) ||
		how == argument && (strings.HasSuffix(v, ".key") || strings.HasSuffix(v, ".pem")))
}

// isErrorCode reports whether v, perhaps with a colon, is the code of an error.
// Microsoft, Oracle and gRPC write AADSTS700016, ORA-01017 and
// PERMISSION_DENIED. AWS writes names such as SignatureDoesNotMatch.
func isErrorCode(v string) bool {
	v = strings.TrimRight(v, ":,.;")
	rest := strings.TrimLeft(v, upper)
	letters := len(v) - len(rest)
	number := strings.TrimPrefix(rest, "-")
	if letters >= 2 && letters <= 8 && len(number) >= 3 && len(number) <= 8 && all(number, isDigit) {
		return true
	}
	if letters >= 2 && rest != "" && strings.Trim(rest, upper+"_") == "" {
		return true
	}
	return letters == 1 && all(v, isLetter) && slices.ContainsFunc([]string{
		"Error", "Exception", "Invalid", "Expired", "Denied", "DoesNot", "NotFound", "NotMatch", "Fail", "Unauthorized", "Missing", "Unknown",
		"Mismatch", "Malformed", "Rejected", "Revoked", "Required", "Unsupported", "Incorrect", "Unrecognized", "Throttl", "Disabled", "NotValid",
	}, func(part string) bool { return strings.Contains(v, part) && len(v) > len(part) })
}

// isPath reports whether v, perhaps with a colon, is the path of a file. A path
// has two parts or more in lower case, because base64 may begin with a slash as
// well.
func isPath(v string) bool {
	v = strings.TrimRight(v, ":,.;")
	parts := strings.Count(v, "/")
	return (parts >= 2 || parts == 1 && v[0] != '/') && strings.IndexByte("/.~", v[0]) >= 0 &&
		all(v, func(b byte) bool { return (isToken(b) || b == '@') && b != '+' && b != '=' && (b < 'A' || b > 'Z') })
}

// isDigest reports whether v is a digest with its algorithm, such as
// sha256:e3b0c442.
func isDigest(v string) bool {
	kind, sum, ok := strings.Cut(v, ":")
	return ok && strings.HasPrefix(kind, "sha") && len(sum) >= 8 && all(sum, isHex)
}

const upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// longestWord is the most bytes that a word of a message has.
const longestWord = 24

// isProse reports whether v, which ends at end, is a word of a message: the
// next link of a chain of errors, a number, or one word of several.
func (c *scanner) isProse(v string, end int) bool {
	if len(v) > longestWord {
		return false
	}
	if len(v) <= 4 && all(v, isDigit) || isLink(strings.TrimPrefix(v, "-")) {
		return true
	}
	w := strings.TrimRight(v, ".,;!?)")
	if !all(w, isLetter) {
		return false
	}
	if saysNothing(w) {
		return true
	}
	if len(w) < len(v) {
		return false
	}
	// Another word follows, or a quoted one.
	from := end + 1
	to := c.run(from, longestWord, func(b byte) bool { return isLetter(b) || b == '\'' })
	return c.quote(from) > 0 || c.has(from, Mask) || to > from && (to == len(c.s) || !isWord(c.s[to]))
}

// isLink reports whether v is the beginning of the next error of a chain, such
// as "oauth2:".
func isLink(v string) bool {
	w, ok := strings.CutSuffix(v, ":")
	w = strings.TrimRight(w, "0123456789")
	return ok && len(v)-len(w) <= 7 && all(w, isLetter)
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }

// isName reports whether v looks like the name of a Kubernetes object, or a
// namespace and a name: lower case, and more than one run of letters and digits
// together.
func isName(v string) bool {
	if len(v) > 253 || strings.Trim(v, "-./") != v ||
		!all(v, func(b byte) bool { return 'a' <= b && b <= 'z' || isDigit(b) || b == '-' || b == '.' || b == '/' }) {
		return false
	}
	return strings.ContainsAny(v, "-./") || !strings.ContainsAny(v, digits) || len(v) < 8
}

// isID reports whether v is a UUID or a bootstrap token of Kubernetes. Both
// have the letters of a name, but people do not give such names.
func isID(v string) bool {
	if len(v) == 23 && v[6] == '.' {
		return strings.IndexByte(v[7:], '-') < 0
	}
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' &&
		all(v, func(b byte) bool { return b == '-' || isHex(b) })
}

// isURL reports whether v begins with a scheme. The scanner then finds its
// credentials by their place in the URL.
func isURL(v string) bool {
	scheme, _, ok := strings.Cut(v[:min(len(v), longestWord)], "://")
	return ok && all(scheme, func(b byte) bool { return isWord(b) || b == '+' })
}

func isBase64(v string) bool {
	v = strings.TrimRight(v, "=")
	return len(v) >= 6 && all(v, func(b byte) bool { return isAlnum(b) || b == '+' || b == '/' })
}

func isScheme(v string) bool {
	schemes := []string{"bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256"}
	return slices.ContainsFunc(schemes, func(s string) bool { return strings.EqualFold(v, s) })
}
