// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The checks of names are those of apimachinery, in front of which stands a loop that recognises the usual name without a
// regular expression. What it does not recognise is not wrong yet.

// tidy reports whether s has 1 to most characters, letters of either case or of lower case alone and digits, and within
// those of inner.
func tidy(s string, most int, upper bool, inner string) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', upper && c >= 'A' && c <= 'Z':
		case i > 0 && i < len(s)-1 && strings.IndexByte(inner, c) >= 0:
		default:
			return false
		}
	}
	return true
}

func dnsLabel(s string) []string {
	if tidy(s, 63, false, "-") {
		return nil
	}
	return validation.IsDNS1123Label(s)
}

func dnsName(s string) []string {
	if tidyDomain(s) {
		return nil
	}
	return validation.IsDNS1123Subdomain(s)
}

func tidyDomain(s string) bool {
	return tidy(s, 253, false, "-.") && !strings.Contains(s, "..") && !strings.Contains(s, ".-") && !strings.Contains(s, "-.")
}

func qualifiedName(s string) []string {
	prefix, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		prefix, name = "a", s
	}
	if tidyDomain(prefix) && tidy(name, 63, true, "-_.") {
		return nil
	}
	return validation.IsQualifiedName(s)
}

// annotationName differs from that of a label in that upper case passes anywhere.
func annotationName(s string) []string {
	if qualifiedName(s) == nil {
		return nil
	}
	return validation.IsQualifiedName(strings.ToLower(s))
}

func labelValue(s string) []string {
	if tidy(s, 63, true, "-_.") {
		return nil
	}
	return validation.IsValidLabelValue(s)
}

func variableName(s string) []string {
	if tidy(s, len(s), true, "_") && strings.IndexByte("0123456789", s[0]) < 0 {
		return nil
	}
	return validation.IsEnvVarName(s)
}

// optional is what is wrong with a name that may be left out.
func optional(s string, check func(string) []string) []string {
	if s == "" {
		return nil
	}
	return check(s)
}
