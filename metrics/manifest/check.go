// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What Kubernetes accepts: k8s.io/apimachinery/pkg/util/validation. The regular
// expressions are anchored by matches.
const (
	dnsLabel   = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	dnsName    = dnsLabel + `(\.` + dnsLabel + `)*`
	labelValue = `([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?`
	secretKey  = `[-._a-zA-Z0-9]+`
	labelName  = `_?[A-Za-z][A-Za-z0-9_]*`
	filePath   = `/[A-Za-z0-9._/-]+`
	jobName    = `[A-Za-z0-9][A-Za-z0-9_./:-]*`
)

// longestInterval leaves two scrapes in any ruleWindow; with fewer a rate has
// no value and its alert never fires.
const longestInterval = 2 * time.Minute

func matches(pattern, s string) bool { return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(s) }

// check returns every error of a target whose defaults are filled in.
func (t Target) check() error {
	c := &checks{}
	c.want(matches(dnsLabel, t.Name) && len(t.Name) <= 63, "Name", t.Name, "a DNS label of at "+
		"most 63 characters, such as agentrun")
	c.want(t.Namespace == "" || matches(dnsLabel, t.Namespace) && len(t.Namespace) <= 63, "Namespace", t.Namespace, "a "+
		"DNS label of at most 63 characters, or none")
	c.labels("Labels", t.Labels)
	c.want(t.Job == t.Name || matches(jobName, t.Job) && len(t.Job) <= 253, "Job", t.Job, "at "+
		"most 253 letters, digits and _ . / : -; the first is a letter or a digit")
	if !maps.Equal(t.Selector, selectorOf(t.Name)) { // an error in Name is reported once
		c.labels("Selector", t.Selector)
	}
	c.want(matches(`[a-z0-9]+(-[a-z0-9]+)*`, t.Port) && len(t.Port) <= 15 && strings.ContainsFunc(t.Port, unicode.IsLetter),
		"Port", t.Port, "the name of a port: at most 15 of a-z, 0-9 and single -, with a letter")
	c.want(matches(`/[A-Za-z0-9._~/-]*`, t.Path), "Path", t.Path, "an absolute path such as /metrics")
	c.duration("Interval", t.Interval)
	c.want(t.Interval <= longestInterval, "Interval", t.Interval, "at most %v, because the "+
		"rates of the alerts look back %s and need two scrapes", longestInterval, ruleWindow)
	c.duration("Timeout", t.Timeout)
	c.want(t.Timeout <= t.Interval, "Timeout", t.Timeout, "at most Interval, which is %v", t.Interval)
	c.want(t.SampleLimit >= 0, "SampleLimit", t.SampleLimit, "0 (for none) or more")
	t.Access.check(c)
	c.kept(t.KeepLabels)
	c.labels("DashboardLabels", t.DashboardLabels)
	c.want(printable(t.Folder), "Folder", t.Folder, "printable text without a backslash")
	c.runbook(t.RunbookURL)
	return errors.Join(c.errs...)
}

func (a Access) check(c *checks) {
	none := SecretKey{}
	c.secret("Access.CA", a.CA)
	c.secret("Access.Token", a.Token)
	if a.ServerName != "" {
		c.want(matches(dnsName, a.ServerName) && len(a.ServerName) <= 253, "Access.ServerName", a.ServerName, "a DNS name")
	}
	if a.TokenFile != "" {
		c.want(matches(filePath, a.TokenFile), "Access.TokenFile", a.TokenFile, "an absolute path")
		c.want(a.Token == none, "Access.TokenFile", a.TokenFile, "none where Token is set")
	}
	if a.TLS {
		named := a.ServerName != "" || a.InsecureSkipVerify
		c.want(named, "Access.ServerName", a.ServerName,
			"the name in the certificate, such as agentrun-metrics.agents.svc, or "+
				"InsecureSkipVerify")
		c.want(a.CA == none || !a.InsecureSkipVerify, "Access.InsecureSkipVerify", true, "false where CA is set")
		return
	}
	verified := a.ServerName != "" || a.CA != none || a.InsecureSkipVerify
	c.want(!verified, "Access.TLS", false, "true where ServerName, CA or InsecureSkipVerify is set")
	secret := a.Token != none || a.TokenFile != ""
	c.want(!secret, "Access.TLS", false, "true where Token or TokenFile is set: the token "+
		"would travel in the clear")
}

// checks collects errors.
type checks struct{ errs []error }

func (c *checks) want(ok bool, field string, value any, accepted string, args ...any) {
	if ok {
		return
	}
	if s, text := value.(string); text {
		value = fmt.Sprintf("%q", s)
	}
	c.errs = append(c.errs, fmt.Errorf("%w: Target.%s: %v is not accepted; want %s", ErrTarget, field, value, fmt.Sprintf(accepted, args...)))
}

// duration accepts a duration that Prometheus can read and that is not a
// mistake.
func (c *checks) duration(field string, d time.Duration) {
	const longest = 30 * 24 * time.Hour
	c.want(d > 0 && d <= longest && d%time.Millisecond == 0, field, d, "whole milliseconds, "+
		"above 0 and at most %v", longest)
}

func (c *checks) secret(field string, s SecretKey) {
	none := s == SecretKey{}
	c.want(none || matches(dnsName, s.Name) && len(s.Name) <= 253 && matches(secretKey, s.Key) && len(s.Key) <= 253,
		field, fmt.Sprintf("%s/%s", s.Name, s.Key), "the name of a Secret and one of its keys, "+
			"or neither")
}

func (c *checks) labels(field string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, name, prefixed := strings.Cut(key, "/")
		if !prefixed {
			prefix = ""
			name = key
		}
		c.want(name != "" && matches(labelValue, name) && len(name) <= 63 && (!prefixed || matches(dnsName, prefix) && len(prefix) <= 253),
			field, key, "keys that are labels of Kubernetes, such as release or example.com/team")
		value := labels[key]
		c.want(matches(labelValue, value) && len(value) <= 63, fmt.Sprintf("%s[%q]", field, key), value, "a "+
			"label's value: at most 63 letters, digits and - _ . within")
	}
}

// kept accepts names of labels that the queries do not use themselves.
func (c *checks) kept(names []string) {
	used := reservedLabels()
	for i, name := range names {
		field := fmt.Sprintf("KeepLabels[%d]", i)
		c.want(matches(labelName, name), field, name, "the name of a label: letters, digits "+
			"and _, such as cluster; the first is a letter, or one _ and a letter")
		c.want(!slices.Contains(used, name), field, name, "a label that the queries do not use "+
			"themselves, such as cluster; they use %s", strings.Join(used, ", "))
		c.want(!slices.Contains(names[:i], name), field, name, "each name once")
	}
}

// runbook accepts a link that a person can follow. The value is not repeated:
// it may hold a password.
func (c *checks) runbook(address string) {
	u, err := url.Parse(strings.ReplaceAll(address, alertPlace, "Alert"))
	ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil &&
		printable(address) && !strings.ContainsAny(address, " \"<>\\^`|") && !strings.Contains(address, "{{")
	ok = ok && (strings.Contains(address, alertPlace) || u.RawQuery == "" && u.Fragment == "")
	c.want(ok, "RunbookURL", "unusable", "http or https with a host and no credentials; with a "+
		"query or a fragment also %s, where the alert's name goes", alertPlace)
}

// printable accepts text that YAML may write unescaped. With a backslash it
// might be taken for the escapes of document.
func printable(s string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' }
	return utf8.ValidString(s) && !strings.ContainsFunc(s, odd)
}
