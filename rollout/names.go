// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The checks of names are apimachinery's. A loop comes first and recognises
// common names without a regular expression, because with the regular
// expressions alone BenchmarkValidate takes more than twice as long. The loop
// never refuses a name.

// tidy reports whether s has 1 to most characters, letters of either case or of
// lower case alone and digits, and between them the characters of inner.
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

// annotationName accepts upper case anywhere, unlike qualifiedName.
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
