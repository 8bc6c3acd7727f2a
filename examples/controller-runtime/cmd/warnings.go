// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/events/redact"
)

// maskedWarnings masks the warnings that come with an answer of the API server
// before they are logged. An admission webhook writes some of them, and may
// quote a credential of the object that it was asked about.
type maskedWarnings struct {
	log rest.WarningHandlerWithContext
}

// HandleWarningHeaderWithContext is called by client-go for each warning.
func (w maskedWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	w.log.HandleWarningHeaderWithContext(ctx, code, agent, redact.Text(text))
}
