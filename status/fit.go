// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the API server accepts in a condition: the markers of metav1.Condition in apimachinery's meta/v1/types.go.
const (
	maxType    = 316
	maxReason  = 1024
	maxMessage = 32768
	noReason   = "Unknown"
)

// fitMessage cuts m on a whole character, and replaces what is not UTF-8, as encoding it would.
func fitMessage(m string) string {
	m = strings.ToValidUTF8(m, string(utf8.RuneError))
	if len(m) <= maxMessage {
		return m
	}
	end := maxMessage
	for !utf8.RuneStart(m[end]) {
		end--
	}
	return m[:end]
}

// fitReason makes r match ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ with at most 1024 bytes. What does is returned as it is.
func fitReason(r string) string {
	if isReason(r) {
		return r
	}
	var b strings.Builder
	for i := 0; i < len(r) && b.Len() < maxReason; i++ {
		switch c := r[i]; {
		case isLetter(c), b.Len() > 0 && (isDigit(c) || c == '_' || c == ',' || c == ':'):
			b.WriteByte(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	if fit := strings.TrimRight(b.String(), ",:_"); fit != "" {
		return fit
	}
	return noReason
}

func isReason(r string) bool {
	if r == "" || len(r) > maxReason || !isLetter(r[0]) {
		return false
	}
	for i := range len(r) {
		if c := r[i]; !isLetter(c) && !isDigit(c) && c != '_' && c != ',' && c != ':' {
			return false
		}
	}
	last := r[len(r)-1]
	return last != ',' && last != ':'
}

// checkCondition refuses what cannot be made to fit without guessing: the error begins with the field.
func checkCondition(c metav1.Condition) error {
	switch {
	case c.Type == "":
		return errors.New(".type: is empty")
	case len(c.Type) > maxType:
		return fmt.Errorf(".type: has %d characters; want at most %d", len(c.Type), maxType)
	case !isType(c.Type):
		return fmt.Errorf(".type: %q is not accepted; want a name such as Ready or example.com/Ready", c.Type)
	}
	switch c.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
	default:
		return fmt.Errorf(".status: %q is not accepted; want True, False or Unknown", c.Status)
	}
	if c.ObservedGeneration < 0 {
		return fmt.Errorf(".observedGeneration: %d is negative", c.ObservedGeneration)
	}
	return nil
}

// isType matches (dns1123SubdomainFmt/)?(qualifiedNameFmt).
func isType(t string) bool {
	prefix, name, prefixed := strings.Cut(t, "/")
	if !prefixed {
		prefix, name = "", t
	}
	for prefixed {
		var label string
		label, prefix, prefixed = strings.Cut(prefix, ".")
		if !isWord(label, func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' }, "-") {
			return false
		}
	}
	return isWord(name, func(c byte) bool { return isDigit(c) || isLetter(c) }, "-_.")
}

// isWord reports whether w begins and ends with a character of class and has only such and those of inner between.
func isWord(w string, class func(byte) bool, inner string) bool {
	if w == "" || !class(w[0]) || !class(w[len(w)-1]) {
		return false
	}
	for i := range len(w) {
		if !class(w[i]) && strings.IndexByte(inner, w[i]) < 0 {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
