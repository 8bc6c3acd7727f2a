// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
)

// kubernetes is the build module of the default version.
const kubernetes = "kubernetes"

// versionVariable names the minor version of Kubernetes that is used instead.
const versionVariable = "CONTROLLERKIT_KUBERNETES"

// ofVersion takes the programs of Kubernetes in list from the build module of
// the version that minor names. Empty means the default version.
func ofVersion(minor string, list []program) error {
	modules := map[string]string{
		"": kubernetes, "1.34": "kubernetes-1.34", "1.35": "kubernetes-1.35", "1.36": kubernetes,
	}
	module, ok := modules[minor]
	if !ok {
		return fmt.Errorf("build: %s: %q has no build module; want 1.34, 1.35 or 1.36",
			versionVariable, minor)
	}
	if minor != "" && os.Getenv(assetsVariable) != "" {
		return fmt.Errorf("build: %s=%s: the programs of %s may be of any version; unset one of the two",
			versionVariable, minor, assetsVariable)
	}
	for i := range list {
		if list[i].module == kubernetes {
			list[i].module = module
		}
	}
	return nil
}
