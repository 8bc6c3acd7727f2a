// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kubernetes is the build module of the default version.
const kubernetes = "kubernetes"

// versionVariable names the minor version of Kubernetes that is used instead.
const versionVariable = "CONTROLLERKIT_KUBERNETES"

// ofVersion takes the programs of Kubernetes in list from the build module of
// the version that minor names.
func ofVersion(ctx context.Context, source, minor string, list []program) error {
	if minor == "" {
		return nil
	}
	if os.Getenv(assetsVariable) != "" {
		return fmt.Errorf("build: %s=%s: the programs of %s may be of any version; unset one of the two", versionVariable, minor, assetsVariable)
	}
	source, err := locate(ctx, source)
	if err != nil {
		return err
	}
	modules, err := versions(source)
	if err != nil {
		return err
	}
	module, ok := modules[minor]
	if !ok {
		return fmt.Errorf("build: %s: %q has no build module; want %s", versionVariable, minor,
			strings.Join(slices.Sorted(maps.Keys(modules)), " or "))
	}
	for i := range list {
		if list[i].module == kubernetes {
			list[i].module = module
		}
	}
	return nil
}

// versions maps the minor versions of Kubernetes that source has to their build
// modules.
func versions(source string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(source, kubernetes+"*", "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	modules := map[string]string{}
	for _, file := range files {
		m, err := readModule(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if numbers := strings.SplitN(strings.TrimPrefix(m.kubernetesVersion(), "v"), ".", 3); len(numbers) == 3 {
			modules[numbers[0]+"."+numbers[1]] = filepath.Base(m.dir)
		}
	}
	return modules, nil
}
