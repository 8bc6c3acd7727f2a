// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// find returns the folders of the groups below dir, by package. Without
// packages it returns all.
func find(dir string, packages []string) (map[string][]string, error) {
	modules, err := filepath.Glob(filepath.Join(dir, "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	groups := map[string][]string{}
	for _, m := range modules {
		group := filepath.Dir(m)
		pkg, _, _ := strings.Cut(filepath.Base(group), "-")
		groups[pkg] = append(groups[pkg], group)
	}
	if len(packages) == 0 {
		return groups, nil
	}
	wanted := map[string][]string{}
	for _, p := range packages {
		if groups[p] == nil {
			return nil, fmt.Errorf("no group measures %q; there are %s", p, strings.Join(slices.Sorted(maps.Keys(groups)), ", "))
		}
		wanted[p] = groups[p]
	}
	return wanted, nil
}
