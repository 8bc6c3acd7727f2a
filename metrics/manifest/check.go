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
	portName   = `[a-z0-9]+(-[a-z0-9]+)*`
	urlPath    = `/[A-Za-z0-9._~/-]*`
)

// longestInterval leaves two scrapes in any ruleWindow; with fewer a rate has
// no value and its alert never fires.
const longestInterval = 2 * time.Minute

func matches(pattern, s string) bool {
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(s)
}

// fits reports whether s has at most so many bytes and matches pattern.
func fits(longest int, pattern, s string) bool {
	return len(s) <= longest && matches(pattern, s)
}

// check returns every error of a target whose defaults are filled in.
func (t Target) check() error {
	c := &checks{}
	c.want(fits(63, dnsLabel, t.Name), "Name", t.Name, "a DNS label of at "+
		"most 63 characters, such as agentrun")
	c.want(t.Namespace == "" || fits(63, dnsLabel, t.Namespace), "Namespace", t.Namespace, "a "+
		"DNS label of at most 63 characters, or none")
	c.labels("Labels", t.Labels)
	c.want(t.Job == t.Name || fits(253, jobName, t.Job), "Job", t.Job, "at "+
		"most 253 letters, digits and _ . / : -; the first is a letter or a digit")
	if !maps.Equal(t.Selector, selectorOf(t.Name)) { // an error in Name is reported once
		c.labels("Selector", t.Selector)
	}
	lettered := strings.ContainsFunc(t.Port, unicode.IsLetter)
	c.want(lettered && fits(15, portName, t.Port), "Port", t.Port,
		"the name of a port: at most 15 of a-z, 0-9 and single -, with a letter")
	c.want(matches(urlPath, t.Path), "Path", t.Path, "an absolute path such as /metrics")
	c.duration("Interval", t.Interval)
	c.want(t.Interval <= longestInterval, "Interval", t.Interval, "at most %v, because the "+
		"rates of the alerts look back %s and need two scrapes", longestInterval, ruleWindow)
	c.duration("Timeout", t.Timeout)
	c.want(t.Timeout <= t.Interval, "Timeout", t.Timeout,
		"at most Interval, which is %v", t.Interval)
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
		c.want(fits(253, dnsName, a.ServerName), "Access.ServerName", a.ServerName, "a DNS name")
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
		contradicts := a.CA != none && a.InsecureSkipVerify
		c.want(!contradicts, "Access.InsecureSkipVerify", true, "false where CA is set")
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
	if s, ok := value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	accepted = fmt.Sprintf(accepted, args...)
	c.errs = append(c.errs, fmt.Errorf("%w: Target.%s: %v is not accepted; want %s",
		ErrTarget, field, value, accepted))
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
	both := fits(253, dnsName, s.Name) && fits(253, secretKey, s.Key)
	c.want(none || both, field, fmt.Sprintf("%s/%s", s.Name, s.Key),
		"the name of a Secret and one of its keys, or neither")
}

func (c *checks) labels(field string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, name, prefixed := strings.Cut(key, "/")
		if !prefixed {
			prefix = ""
			name = key
		}
		named := name != "" && fits(63, labelValue, name)
		owned := !prefixed || fits(253, dnsName, prefix)
		c.want(named && owned, field, key,
			"keys that are labels of Kubernetes, such as release or example.com/team")
		value := labels[key]
		c.want(fits(63, labelValue, value), fmt.Sprintf("%s[%q]", field, key), value,
			"a label's value: at most 63 letters, digits and - _ . within")
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
	if err != nil {
		u = &url.URL{} // it has no scheme, so it is not accepted
	}
	web := u.Scheme == "https" || u.Scheme == "http"
	host := u.Hostname() != "" && u.User == nil
	odd := strings.ContainsAny(address, " \"<>\\^`|") || strings.Contains(address, "{{")
	placed := strings.Contains(address, alertPlace) || u.RawQuery == "" && u.Fragment == ""
	ok := web && host && placed && !odd && printable(address)
	c.want(ok, "RunbookURL", "unusable", "http or https with a host and no credentials; with a "+
		"query or a fragment also %s, where the alert's name goes", alertPlace)
}

// printable accepts text that YAML may write unescaped. With a backslash it
// might be taken for the escapes of document.
func printable(s string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' }
	return utf8.ValidString(s) && !strings.ContainsFunc(s, odd)
}
