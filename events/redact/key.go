// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A kind says what the value of a key is.
type kind uint8

const (
	harmless      kind = iota
	credential         // a token, a key
	password           // people make it up, also from words
	authorization      // a scheme and a credential
	reference          // a credential, or the name of its Secret
	cookie             // pairs of names and values
)

// endings are the last letters of all sensitive keys.
const endings = "tdeynlsghp"

// kindOf decides by the end of a key, in any case. Hyphens or underscores may
// join its words, and a number may follow.
func kindOf(key string) kind {
	// The longest ending is "connectionstring". A few separators more are enough
	// to see all of it.
	const longest = 24
	key, numbered := cutNumber(key)
	if key == "" || strings.IndexByte(endings, key[len(key)-1]|0x20) < 0 {
		return harmless
	}
	var buf [longest]byte
	n, last := longest, 0 // buf[n:] is the end of the key, buf[last:] its last word
	for i := len(key) - 1; i >= 0 && n > 0; i-- {
		b := key[i]
		separator := b == '-' || b == '_'
		if !separator {
			n--
			buf[n] = b | 0x20 // lower case
		}
		camel := isUpperAlnum(b) && !isDigit(b) && i > 0 && 'a' <= key[i-1] && key[i-1] <= 'z'
		if last == 0 && (separator || camel) {
			last = n
		}
	}
	end := string(buf[n:]) // does not leave the function, so it stays on the stack
	word := end[max(0, last-n):]
	switch {
	case strings.HasSuffix(end, "cookie"):
		return cookie
	case strings.HasSuffix(end, "authorization"):
		return authorization
	case word == "pwd", word == "pass", hasAnySuffix(end, "password", "passwords", "passwd", "passphrase", "passcode", "requirepass"):
		return password
	case word == "sig", word == "otp", word == "jwt", word == "auth" && !numbered, hasAnySuffix(end,
		"token", "apikey", "accesskey", "privatekey", "secretkey", "secretkeybase", "signingkey", "encryptionkey", "masterkey",
		"accountkey", "sharedkey", "authkey", "subscriptionkey", "credential", "credentials", "signature", "connectionstring", "secretstring",
		"dockerconfigjson",
		// The secrets of protocols are values, those of Kubernetes are names.
		"clientsecret", "sharedsecret", "appsecret", "consumersecret", "apisecret", "jwtsecret", "hmacsecret", "sessionsecret",
		"webhooksecret", "signingsecret", "oauthsecret", "tokensecret"):
		return credential
	case strings.HasSuffix(end, "secret"):
		return reference
	}
	return harmless
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(s, suffix) {
			return true
		}
	}
	return false
}

// cutNumber returns key without a number of up to three digits, such as 1 in
// DB_PASSWORD_1. After a hyphen it is the number of a pod, and part of the key.
func cutNumber(key string) (cut string, numbered bool) {
	cut = strings.TrimRight(key, digits)
	n := len(key) - len(cut)
	if n > 3 || n > 0 && strings.HasSuffix(cut, "-") {
		return key, false
	}
	return strings.TrimRight(cut, "_-"), n > 0
}

// saysNothing reports whether w, the value of a sensitive key, is a word of a
// message instead of a credential.
func saysNothing(w string) bool {
	var buf [longestWord]byte
	if len(w) > len(buf) {
		return false
	}
	for i := range len(w) {
		buf[i] = w[i] | 0x20 // lower case; the words below have only letters and hyphens
	}
	switch string(buf[:len(w)]) { // compared in place, not copied
	case "true", "false", "yes", "no", "on", "off", "null", "nil", "none", "empty", "unset", "undefined", "unknown", "optional", "string",
		"is", "was", "are", "has", "had", "not", "no-op", "must", "should", "cannot", "can", "could", "may", "will", "does", "did",
		"the", "a", "an", "of", "for", "from", "in", "on-disk", "to", "and", "or", "with", "by", "at", "as", "it", "if",
		"invalid", "valid", "expired", "missing", "required", "denied", "rejected", "revoked", "refused", "failed", "failure", "failing",
		"error", "wrong", "incorrect", "mismatch", "mismatched", "malformed", "unauthorized", "unauthenticated", "forbidden", "found",
		"absent", "present", "disabled", "enabled", "unsupported", "unavailable", "unreadable", "pending", "rotated", "rotating",
		"refreshed", "updated", "created", "deleted", "removed", "ready", "synced", "verified", "unverified", "changed", "unchanged",
		"redacted", "hidden", "masked", "omitted", "sensitive", "changeit", "ok", "eof", "timeout", "context", "unexpected", "too",
		"references", "already", "still", "only", "ignored", "skipped", "used", "unused", "reading", "loading", "get", "post", "put", "patch",
		"integer", "number", "boolean", "object", "array", "exists", "length", "type", "value", "file", "lookup", "dial", "open", "read", "write", "permission", "connection":
		return true
	}
	return false
}
