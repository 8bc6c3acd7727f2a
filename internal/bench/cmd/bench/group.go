// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// find returns the folders of the groups below dir that measure packages, in
// alphabetical order. Without packages it returns all.
func find(dir string, packages []string) (groups []string, err error) {
	programs, err := filepath.Glob(filepath.Join(dir, "*", "main.go"))
	if err != nil {
		return nil, err
	}
	var known []string
	for _, p := range programs {
		group := filepath.Dir(p)
		known = append(known, filepath.Base(group))
		if len(packages) == 0 || slices.Contains(packages, filepath.Base(group)) {
			groups = append(groups, group)
		}
	}
	for _, p := range packages {
		if !slices.Contains(known, p) {
			return nil, fmt.Errorf("no group measures %q; there are %s", p, strings.Join(known, ", "))
		}
	}
	return groups, nil
}
