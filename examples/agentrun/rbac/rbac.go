// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac holds the role of the example's controller.
package rbac

import _ "embed"

//go:embed role.yaml
var role []byte

// YAML is the ClusterRole with exactly the verbs that the controller uses, and its binding.
func YAML() []byte { return role }
