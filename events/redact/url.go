// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// authority masks the credentials of a URL. Its authority begins at p.
func (c *scanner) authority(p int) int {
	web := strings.HasPrefix(c.s[c.key.from:min(c.key.to, p)], "http")
	c.key = span{}
	end := c.stretchEnd(p)
	if c.at < p {
		return c.path(p)
	}
	host := c.hostEnd(p, end)
	at := p + strings.LastIndexByte(c.s[p:host], '@')
	if at < p {
		// A password may have a slash, a question mark or a hash. A port does not.
		_, port, found := strings.Cut(c.s[p:host], ":")
		if !found || c.s[p] == '[' || port != "" && all(port, isDigit) {
			return c.path(p)
		}
		first := c.until(p, '@')
		at = first + strings.LastIndexByte(c.s[first:c.hostEnd(first, end)], '@')
	}
	user, password, found := strings.Cut(c.s[p:at], ":")
	if isBareToken(user, web, found) {
		c.mask(p, p+len(user))
	}
	c.mask(at-len(password), at)
	return c.path(at + 1)
}

// hostEnd returns the end of the authority that continues at i.
func (c *scanner) hostEnd(i, end int) int {
	return c.run(i, end-i, func(b byte) bool { return b != '/' && b != '?' && b != '#' })
}

// isBareToken reports whether the user of a URL is a credential. It is if it is
// longer than the name of a person. On the web and without a password, a
// shorter user with a digit is a credential too.
func isBareToken(user string, web, password bool) bool {
	digit := strings.ContainsAny(user, digits)
	return len(user) >= 16 && (web || digit) || len(user) >= 8 && digit && web && !password
}

// path masks the credential in the URL of a webhook, which is its path. The
// host begins at p.
func (c *scanner) path(p int) int {
	team := c.wordEnd(p)
	for _, hook := range [...]string{
		"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/",
		"discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "outlook.office.com/webhook/",
		".webhook.office.com/", // after the team's name
	} {
		from := p
		if hook[0] == '.' {
			from = team
		}
		if c.has(from, hook) {
			from += len(hook)
			to := c.run(from, len(c.s), func(b byte) bool { return isToken(b) || b == '@' || b == '%' })
			c.mask(from, to)
			return to
		}
	}
	return p
}

// dataSource masks the password of user:password@tcp(host), the form of Go's
// MySQL driver, with or without the network and the host. The '@' is at i.
func (c *scanner) dataSource(i int) {
	network := c.has(i, "@tcp(") || c.has(i, "@unix(")
	if c.colon < 0 || !network && !c.has(i, "@(") && !c.has(i, "@/") {
		return // a password may have an '@'
	}
	// Without a network, text with a slash or a blank is a path or a stack trace.
	from := c.colon + 1
	if network || c.run(from, i-from, func(b byte) bool { return b != '/' && !isBlank(b) }) == i {
		c.mask(from, i)
	}
	c.colon = -1
}
