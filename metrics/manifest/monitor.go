// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

// monitorSpec is the part of a ServiceMonitor's spec that this package writes.
type monitorSpec struct {
	Selector    selector   `json:"selector"`
	Endpoints   []endpoint `json:"endpoints"`
	SampleLimit int        `json:"sampleLimit,omitempty"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type endpoint struct {
	Port            string         `json:"port"`
	Path            string         `json:"path"`
	Interval        string         `json:"interval"`
	ScrapeTimeout   string         `json:"scrapeTimeout"`
	HonorLabels     bool           `json:"honorLabels"`
	Scheme          string         `json:"scheme,omitempty"`
	TLSConfig       *tlsConfig     `json:"tlsConfig,omitempty"`
	Authorization   *authorization `json:"authorization,omitempty"`
	BearerTokenFile string         `json:"bearerTokenFile,omitempty"`
	Relabelings     []relabeling   `json:"relabelings"`
}

type tlsConfig struct {
	CA                 *authorities `json:"ca,omitempty"`
	ServerName         string       `json:"serverName,omitempty"`
	InsecureSkipVerify bool         `json:"insecureSkipVerify,omitempty"`
}

type authorities struct {
	Secret secretSelector `json:"secret"`
}

type authorization struct {
	Type        string         `json:"type"`
	Credentials secretSelector `json:"credentials"`
}

type secretSelector struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type relabeling struct {
	Action      string `json:"action"`
	TargetLabel string `json:"targetLabel"`
	Replacement string `json:"replacement"`
}

// ServiceMonitor returns the object that makes Prometheus Operator scrape the
// target (monitoring.coreos.com/v1), in YAML. It sets the label job to
// Target.Job, independent of the Service's name. The alerts select by this
// label.
func (b *Bundle) ServiceMonitor() []byte {
	t := b.target
	e := endpoint{
		Port:          t.Port,
		Path:          t.Path,
		Interval:      promDuration(t.Interval),
		ScrapeTimeout: promDuration(t.Timeout),
		Relabelings:   []relabeling{{Action: "replace", TargetLabel: varJob, Replacement: t.Job}},
	}
	t.Access.apply(&e)
	return document(object{
		APIVersion: monitoringAPI,
		Kind:       "ServiceMonitor",
		Metadata:   t.metadata(t.Name, nil, nil),
		Spec: monitorSpec{
			Selector:    selector{MatchLabels: t.Selector},
			Endpoints:   []endpoint{e},
			SampleLimit: t.SampleLimit,
		},
	})
}

// apply says how Prometheus connects.
func (a Access) apply(e *endpoint) {
	if !a.TLS {
		return
	}
	e.Scheme = "https"
	e.TLSConfig = &tlsConfig{ServerName: a.ServerName, InsecureSkipVerify: a.InsecureSkipVerify}
	if a.CA != (SecretKey{}) {
		e.TLSConfig.CA = &authorities{secretSelector(a.CA)}
	}
	if a.Token != (SecretKey{}) {
		e.Authorization = &authorization{Type: "Bearer", Credentials: secretSelector(a.Token)}
	}
	e.BearerTokenFile = a.TokenFile
}
