// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/rollout/live"
)

// client-go's clients fit as they are.
var (
	_ live.Discovery = discovery.DiscoveryInterface(nil)
	_ live.Patcher   = dynamic.ResourceInterface(nil)
)
