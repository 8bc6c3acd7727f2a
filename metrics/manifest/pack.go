// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// Bundle is all manifests of one target. It is made by [New], holds nothing
// that changes, and is safe for concurrent use. Equal targets give equal bytes.
type Bundle struct {
	target Target
	rows   []row
	alerts []alert
	old    []recording
}

// New builds the manifests. The error names every field of the target that
// cannot be used and the accepted values; it wraps [ErrTarget].
func New(t Target) (*Bundle, error) {
	t = t.withDefaults()
	if err := t.check(); err != nil {
		return nil, err
	}
	p, table := &Bundle{target: t}, catalog.Instruments()
	var err error
	if p.rows, err = rows(t, table); err != nil {
		return nil, fmt.Errorf("metrics/manifest: the dashboard does not fit the catalogue: %w", err)
	}
	if p.alerts, err = rules(t, table); err != nil {
		return nil, fmt.Errorf("metrics/manifest: the rules do not fit the catalogue: %w", err)
	}
	if p.old, err = oldNames(t, table); err != nil {
		return nil, fmt.Errorf("metrics/manifest: the recording rules do not fit the catalogue: %w", err)
	}
	return p, nil
}

// ServiceMonitor returns the object that makes Prometheus Operator scrape the
// target (monitoring.coreos.com/v1), in YAML. It sets the label job to
// Target.Job, independent of the Service's name. The alerts select by this
// label.
func (p *Bundle) ServiceMonitor() []byte {
	t := p.target
	endpoint := mapping{
		{"port", t.Port},
		{"path", t.Path},
		{"interval", promDuration(t.Interval)},
		{"scrapeTimeout", promDuration(t.Timeout)},
		{"honorLabels", false},
	}
	endpoint = append(endpoint, t.Access.fields()...)
	endpoint = append(endpoint, field{"relabelings", list{mapping{{"action", "replace"}, {"targetLabel", varJob}, {"replacement", t.Job}}}})

	spec := mapping{
		{"selector", mapping{{"matchLabels", sortedMapping(t.Selector)}}},
		{"endpoints", list{endpoint}},
	}
	if t.SampleLimit > 0 {
		spec = append(spec, field{"sampleLimit", t.SampleLimit})
	}
	return document(mapping{
		{"apiVersion", "monitoring.coreos.com/v1"},
		{"kind", "ServiceMonitor"},
		{"metadata", t.metadata(t.Name, nil, nil)},
		{"spec", spec},
	})
}

func (a Access) fields() mapping {
	if !a.TLS {
		return nil
	}
	out, tls := mapping{{"scheme", "https"}}, mapping{}
	if a.CA != (SecretKey{}) {
		tls = append(tls, field{"ca", mapping{{"secret", a.CA.selector()}}})
	}
	if a.ServerName != "" {
		tls = append(tls, field{"serverName", a.ServerName})
	}
	if len(tls) > 0 {
		out = append(out, field{"tlsConfig", tls})
	}
	if a.Token != (SecretKey{}) {
		out = append(out, field{"authorization", mapping{{"type", "Bearer"}, {"credentials", a.Token.selector()}}})
	}
	return out
}

func (s SecretKey) selector() mapping { return mapping{{"name", s.Name}, {"key", s.Key}} }

func sortedMapping(m map[string]string) mapping {
	var out mapping
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, field{key, m[key]})
	}
	return out
}
