// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinition of AgentRuns, generated from
// the types.
package crd

import _ "embed"

//go:embed agents.controllerkit.dev_agentruns.yaml
var definition []byte

// YAML is the CustomResourceDefinition.
func YAML() []byte { return definition }
