// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// expand replaces the names in braces of an expression by their fragments.
func expand(expression, keywords string) string {
	var words []string
	for w := range strings.FieldsSeq(keywords) {
		words = append(words, regexp.QuoteMeta(strings.TrimPrefix(w, "*")))
	}
	keyword := "(?:" + strings.Join(words, "|") + ")"
	for strings.Contains(expression, "{") {
		expanded := fragmentNames().Replace(expression)
		expanded = strings.ReplaceAll(expanded, "{keyword}", keyword)
		if expanded == expression {
			break // the braces that are left count
		}
		expression = expanded
	}
	return expression
}

// fragmentNames replaces each name by its expression.
var fragmentNames = sync.OnceValue(func() *strings.Replacer { //nolint:gochecknoglobals // a constant
	return strings.NewReplacer(fragments()...)
})

// fragments returns the names that rules may use, each with its expression.
func fragments() []string {
	return []string{
		// The end of a key, as in DB_PASSWORD_1 and passwordBase64.
		"{number}", `(?:_*\d{1,3}|[_-]?(?i:base64|b64|hex|encoded|plain|plaintext|raw|value))?`,
		// The end of the name of a credential.
		"{sensitive}", `(?i:password|passwd|passphrase|pwd|pass|token|key|secret|credentials?` +
			`|authorization|auth|jwt)`,
		// Separators: is leaves no doubt that a value follows, colon does.
		"{after}", "(?:[\"'`\\\\ ]*\\]? *| \\((?i:base64|b64|hex|encoded|plain|plaintext|raw)[\\w -]*\\) *)",
		"{is}", `{after}(?:=>? *|:=?)`,
		"{isquoted}", "(?:{is}|[\"'`\\\\ ]*[\"'`]: +|{after}[:=]>? *{typed})",
		"{typed}", `\(?string\)? ?\((?:len=)?\d+\) `, // of spew and PHP
		"{colon}", `{after}:[ \t]+{scalar}`,
		"{loose}", `(?:{parent}|{colon}{bare})`,
		// A key of YAML below the key, in a text whose lines are one.
		"{parent}", `{after}:[ \t]{2,}["']?[\w.-]*` +
			`(?i:pass(?:word|wd)?|pwd|token|key|secret|auth|credentials?)["']?:(?:[ \t]|$)`,
		"{below}", `{after}:[ \t\r]*\n[ \t]+`,
		"{entry}", `["']?[\w.-]+["']?:(?:\s|$)`, // of an object of YAML
		"{scalar}", `(?:(?:[!&]\S*|[|>][0-9+-]*)\s+){0,3}`,
		"{sep}", `{after}(?:=>?|:=?)[ \t]*`,
		"{near}", "[^\\s\"'`]*?", // of the words that a starred keyword is in
		"{options}", `(?: [^|;\n]*?)?`, // of a command
		// Values.
		"{argument}", `(?:'([^']*)'|"([^"]*)"|([^\s"'|]*[^\s"':,;|]))`, // of a command
		"{quoted}", quoted(),
		"{bare}", `(?:\[redacted\]|({first}{rest}*(?:[,;&]{more})*)(?:{end}|$))`,
		"{more}", `(?:[\w.-]+(?:{odd}{rest}*)?|{odd}{rest}*)`, // of a value, after a comma
		"{first}", "[^\\s,;&<\\\\\"'`)\\]}>\\[]",
		"{rest}", "(?:[^\\s,;&<\\\\\"'`)\\]}>]|[\"'`)\\]}>][\\w-])",
		"{odd}", "(?:[^\\w.\\-=:\\s,;&<\\\\\"'`)\\]}>]|[)\\]}>][\\w-])",
		"{end}", "[\\s,;&<\\\\\"'`)\\]}>]",
		"{brackets}", `(?:\[\](?:uint8|byte|string)\{([^}]*)|\[([^\]]*))`,
		"{run}", `([\w.~+/=-]{20,})`,
		"{token}", `[\w.~+/=-]`,
		"{tail}", `(?:[.~+/=]{token}*)?`, // of a token, after its random word
		"{stop}", `(?:[^\w.~+/=-]|$)`, // what is after a token
		"{block}", `[|>][0-9+-]*[ \t]*\r?\n` + block(),
		// The values of the data of a Secret, by their names.
		"{encoded}", `[\w.-]+:\s+(?:[|>][+-]?\s+)?([A-Za-z0-9+/]{6,}={0,2}(?:\s+[A-Za-z0-9+/]{20,}={0,2})*)` +
			`(?:\s|\z)`,
		// Values that stay.
		"{unmixed}", `[^A-Z]*|[^a-z]*|[^0-9]*`,
		"{harmless}", `[*:,.;=]*|{word}|{path}|sha[^:]*:[0-9a-fA-F]{8,}` +
			`|<(?s:.*)|\$[({](?s:.*)|%.{0,2}|redacted` +
			`|ENC\[.*|Ag[A-D][\w+/=]{60,}`,
		"{open}", `[A-Za-z_]\w*(?:\.\w+)+\(.*` + // a call
			`|[({*].{0,6}|[({*%].*[(){}\[\]<>*:].*|%.?|%[^0-9a-fA-F].{0,5}|%.[^0-9a-fA-F].{0,4}` +
			`|[\w+]+://.*|-----.*|\d{1,2}`,
		"{prose}", `\d{1,4}|\d{1,12}:|-?[A-Za-z]*\d{0,6}:|{word}[.,;!?)]*`,
		// What a key of anything may have: no random text.
		"{ordinary}", `{harmless}|{open}|{code}|{dashed}|.{0,15}|[^0-9]*|[^A-Za-z]*|[/.~]?{names}`,
		"{ordinary8}", `{harmless}|{open}|{code}|{dashed}|.{0,7}|[^0-9]*|[^A-Za-z]*`,
		"{names}", `{part}?(?:[./~+_:-]+{part})*[./~+_:-]*`,
		"{part}", `(?:[A-Za-z0-9]{1,6}|[A-Z0-9]{1,20}|[a-z]?{capital}+)`,
		"{capital}", `(?:[A-Z]{0,6}[a-z]{2,}\d{0,4}|[A-Z]{1,8}\d{0,4}|{short})`, // of a name in camel case
		"{short}", `(?:A[nst]|B[ey]|D[bo]|Go|I[dfnpst]|My|No|O[fnrs]|To|Up|V\d|v\d)`,
		"{path}", `(?:/[a-z0-9_.~@-]*/|[.~][a-z0-9_.~@-]*/)[a-z0-9_.~@/-]*[:,.;]*`,
		"{name}", `[a-z]+(?:_[a-z]+)*|[a-z0-9]{1,7}|{dashed}`,
		"{dashed}", `[a-z0-9]+(?:[./-]+[a-z0-9]+)+`,
		"{uuid}", `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`,
		"{code}", `(?:[A-Z]{2,8}-?\d{3,8}|[A-Z]{2,}_[A-Z_]*` +
			`|[A-Z][a-z][A-Za-z]*{wrong}[A-Za-z]*|{wrong}[A-Za-z]+)[:,.;]*`,
		"{wrong}", `(?:Error|Exception|Invalid|Expired|Denied|DoesNot|NotFound|NotMatch|Fail|Unauthorized` +
			`|Missing|Unknown|Mismatch|Malformed|Rejected|Revoked|Required|Unsupported|Incorrect` +
			`|Unrecognized|Throttl|Disabled|NotValid)`,
		"{word}", `(?i:` + strings.Join(strings.Fields(words), "|") + `)`,
	}
}

// words of a message that may follow a key, instead of a credential.
const words = `
	true false yes no on off null nil none empty unset undefined unknown optional string is was are has
	had not no-op must should cannot can could may will does did the a an of for from in on-disk to and
	or with by at as it if invalid valid expired missing required denied rejected revoked refused failed
	failure failing error wrong incorrect mismatch mismatched malformed unauthorized unauthenticated
	forbidden found absent present disabled enabled unsupported unavailable unreadable pending rotated
	rotating refreshed updated created deleted removed ready synced verified unverified changed
	unchanged redacted hidden masked omitted sensitive changeit ok eof timeout context unexpected too
	references already still only ignored skipped used unused reading loading get post put patch integer
	number boolean object array exists length type value file lookup dial open read write permission
	connection flag flags option options argument expects expected needs requires takes wants accepts
	sets given provided specified passed when without instead before after also usage see`

// quoted returns an expression for a text in quotes. A quote in a quoted text
// has a backslash before it, and one in that 3, then 7.
func quoted() string {
	var forms []string
	for _, q := range []string{`"`, `'`, "`"} {
		deepest := 8
		if q == "`" {
			deepest = 1 // nothing escapes it
		}
		for n := 1; n <= deepest; n *= 2 {
			quote := strings.Repeat(`\\`, n-1) + q
			content := fmt.Sprintf(`(?:[^%[1]s\\]|\\{%[2]d}|\\{%[3]d,%[4]d}[^\\]`, q, 2*n, n, 2*n-1)
			if n > 1 {
				content += fmt.Sprintf(`|\\{1,%d}[^%s\\]`, n-1, q)
			}
			forms = append(forms, quote+"("+content+")*)")
		}
	}
	return "(?:" + strings.Join(forms, "|") + ")"
}

// block returns an expression for the lines of a block of YAML, which are
// indented as far as the first of them.
func block() string {
	var forms []string
	for indent := range 12 {
		forms = append(forms, fmt.Sprintf(`[ \t]{%[1]d}(\S[^\n]*(?:\n+[ \t]{%[1]d,}[^\n]*)*)`, indent+1))
	}
	return "(?:" + strings.Join(forms, "|") + ")"
}
