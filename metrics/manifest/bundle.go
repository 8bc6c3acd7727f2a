// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

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
	err := t.check()
	if err != nil {
		return nil, err
	}
	p := &Bundle{target: t}
	table := catalog.Instruments()
	p.rows, err = rows(t, table)
	if err != nil {
		return nil, fmt.Errorf("metrics/manifest: the dashboard does not fit the catalogue: %w", err)
	}
	all, err := rules(t, table)
	if err != nil {
		return nil, fmt.Errorf("metrics/manifest: the rules do not fit the catalogue: %w", err)
	}
	p.alerts, err = edited(all, t.Edit)
	if err != nil {
		return nil, err
	}
	p.old, err = oldNames(t, table)
	if err != nil {
		return nil, fmt.Errorf("metrics/manifest: the recording rules do not fit the "+
			"catalogue: %w", err)
	}
	return p, nil
}
