// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A kind is what the value of a key is.
type kind uint8

const (
	harmless   kind = iota
	credential      // a password, a token, a key
	reference       // a credential, or the name of a Secret that holds it
	cookie          // pairs of names and values
)

// endings are the last letters of all sensitive keys.
const endings = "tdeynlsghp"

// kindOf judges a key by its end, whatever its case and whether its words are joined by hyphens, underscores or nothing, and
// whether or not a number follows.
func kindOf(key string) kind {
	// The longest ending is "connectionstring": a few separators more are enough to see all of it.
	const longest = 24
	key, numbered := cutNumber(key)
	if key == "" || strings.IndexByte(endings, key[len(key)-1]|0x20) < 0 {
		return harmless
	}
	var buf [longest]byte
	n := longest
	short := "" // the last word, when something sets it off
	for i := len(key) - 1; i >= 0 && n > 0; i-- {
		b := key[i]
		if b == '-' || b == '_' {
			if short == "" {
				short = key[i+1:]
			}
			continue
		}
		if 'A' <= b && b <= 'Z' {
			if short == "" && i > 0 && 'a' <= key[i-1] && key[i-1] <= 'z' {
				short = key[i:]
			}
			b |= 0x20
		}
		n--
		buf[n] = b
	}
	if short == "" {
		short = key
	}
	end := string(buf[n:]) // does not leave the function, so it stays on the stack
	switch {
	case strings.HasSuffix(end, "secret"):
		return kindOfSecret(strings.TrimSuffix(end, "secret"))
	case strings.HasSuffix(end, "cookie"):
		return cookie
	case strings.HasSuffix(end, "password"), strings.HasSuffix(end, "passwd"), strings.HasSuffix(end, "passphrase"),
		strings.HasSuffix(end, "passcode"), strings.HasSuffix(end, "requirepass"), strings.HasSuffix(end, "token"), strings.HasSuffix(end, "apikey"),
		strings.HasSuffix(end, "accesskey"), strings.HasSuffix(end, "privatekey"), strings.HasSuffix(end, "secretkey"),
		strings.HasSuffix(end, "signingkey"), strings.HasSuffix(end, "encryptionkey"), strings.HasSuffix(end, "masterkey"),
		strings.HasSuffix(end, "accountkey"), strings.HasSuffix(end, "sharedkey"), strings.HasSuffix(end, "authkey"),
		strings.HasSuffix(end, "credential"), strings.HasSuffix(end, "credentials"), strings.HasSuffix(end, "signature"),
		strings.HasSuffix(end, "authorization"), strings.HasSuffix(end, "connectionstring"), strings.HasSuffix(end, "secretstring"), strings.HasSuffix(end, "dockerconfigjson"):
		return credential
	}
	switch {
	case strings.EqualFold(short, "pwd"), strings.EqualFold(short, "pass"), strings.EqualFold(short, "sig"),
		strings.EqualFold(short, "otp"), strings.EqualFold(short, "jwt"), strings.EqualFold(short, "auth") && !numbered:
		return credential
	}
	return harmless
}

// cutNumber is key without the number of up to three digits that tells it from others, as in DB_PASSWORD_1. After a hyphen it is
// the number of a pod.
func cutNumber(key string) (cut string, numbered bool) {
	n := len(key)
	for n > 0 && n > len(key)-3 && isDigit(key[n-1]) {
		n--
	}
	if n > 0 && n < len(key) && key[n-1] == '-' {
		return key, false
	}
	numbered = n < len(key)
	for n > 0 && (key[n-1] == '_' || key[n-1] == '-') {
		n--
	}
	return key[:n], numbered
}

// kindOfSecret tells the secrets of protocols, which are values, from those of Kubernetes, which are names.
func kindOfSecret(owner string) kind {
	for _, o := range [...]string{"client", "shared", "app", "consumer", "api", "jwt", "hmac", "session", "webhook", "signing", "oauth", "token"} {
		if strings.HasSuffix(owner, o) {
			return credential
		}
	}
	return reference
}

// saysNothing reports whether w, the value of a sensitive key, is a word of a message rather than a credential.
func saysNothing(w string) bool {
	var buf [longestWord]byte
	if len(w) > len(buf) {
		return false
	}
	for i := range len(w) {
		buf[i] = w[i] | 0x20 // lower case; what is no letter then is part of no word here
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
