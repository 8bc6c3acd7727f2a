// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// authority masks the credentials of a URL whose authority begins at p.
func (c *scanner) authority(p int) int {
	scheme := c.s[c.key.from:min(c.key.to, p)]
	c.key = span{}
	end := c.stretchEnd(p)
	if c.nextAt(p) >= end {
		return c.path(p)
	}
	at := c.lastAt(p, p, end)
	if at < 0 {
		// A password may hold what ends an authority. A port does not.
		user := c.hostEnd(p, end)
		colon := strings.IndexByte(c.s[p:user], ':')
		if colon < 0 || c.s[p] == '[' || colon+1 < user-p && all(c.s[p+colon+1:user], isDigit) {
			return c.path(p)
		}
		at = c.lastAt(p, c.nextAt(p), end)
	}
	user, password, found := strings.Cut(c.s[p:at], ":")
	web := strings.HasPrefix(scheme, "http")
	if isBareToken(user, web, found) {
		c.mask(p, p+len(user))
	}
	c.mask(at-len(password), at)
	return c.path(at + 1)
}

// hostEnd is the end of the authority that goes on at i.
func (c *scanner) hostEnd(i, end int) int {
	j := i
	for j < end && c.s[j] != '/' && c.s[j] != '?' && c.s[j] != '#' {
		j++
	}
	c.looked += j - i
	return j
}

// lastAt is the place of the last '@' of the authority that begins at p and goes on at i; negative when it has none.
func (c *scanner) lastAt(p, i, end int) int {
	n := strings.LastIndexByte(c.s[p:c.hostEnd(i, end)], '@')
	if n < 0 {
		return n
	}
	return p + n
}

// isBareToken reports whether the user of a URL is a credential: so long that no person has it or, on the web and without a
// password, anything but a plain name.
func isBareToken(user string, web, password bool) bool {
	switch {
	case len(user) >= 16:
		return web || strings.ContainsAny(user, "0123456789")
	case password || !web:
		return false
	}
	return strings.ContainsAny(user, "0123456789") && len(user) >= 8
}

// path masks the part of a web hook's URL that is its credential. p is where the host begins.
func (c *scanner) path(p int) int {
	for _, hook := range [...]string{"hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"} {
		if c.has(p, hook) {
			from := p + len(hook)
			to := c.tokenEnd(from)
			c.mask(from, to)
			return to
		}
	}
	return p
}

// nextAt is the place of the first '@' from i on, or len(s). It is looked for once.
func (c *scanner) nextAt(i int) int {
	if c.at >= i {
		return c.at
	}
	n := strings.IndexByte(c.s[i:], '@')
	if n < 0 {
		n = len(c.s) - i
	}
	c.looked += n
	c.at = i + n
	return c.at
}

// dataSource masks the password of user:password@tcp(host), as Go's MySQL driver takes it, with the network and the host or
// without. i is where the '@' stands.
func (c *scanner) dataSource(i int) {
	network := c.has(i, "@tcp(") || c.has(i, "@unix(")
	if c.colon < 0 || !network && !c.has(i, "@(") && !c.has(i, "@/") {
		return // a password may hold an '@'
	}
	if network || c.isPassword(c.colon+1, i) {
		c.mask(c.colon+1, i)
	}
	c.colon = -1
}

// isPassword reports whether from..to, before an '@' that may be anything's, is no part of a path nor of several lines.
func (c *scanner) isPassword(from, to int) bool {
	c.looked += to - from
	return all(c.s[from:to], func(b byte) bool { return b != '/' && !isBlank(b) })
}

// telegram masks the token of a bot, digits and a colon and 35 bytes from AA on. It returns 0 when there is none at p.
func (c *scanner) telegram(key string, p int) int {
	key = strings.TrimPrefix(key, "bot")
	if len(key) < 8 || len(key) > 10 || !all(key, isDigit) || !c.has(p, "AA") {
		return 0
	}
	end := c.wordEnd(p)
	if end-p != 35 {
		return 0
	}
	c.mask(p, end)
	return end
}
