// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac holds the roles of the example's controller.
package rbac

import _ "embed"

//go:embed role.yaml
var role []byte

//go:embed leader.yaml
var leader []byte

// YAML is the ClusterRole with exactly the verbs that the controller uses, and
// its binding.
func YAML() []byte { return role }

// LeaderYAML is the Role with exactly the verbs that --leader-elect uses, and
// its binding; both belong into the namespace of the lease.
func LeaderYAML() []byte { return leader }
