// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/client-go/rest"
)

// Warnings logs the warnings that come with an answer of the API server, with
// secrets masked. An admission webhook writes some of them, and may quote a
// credential of the object that it was asked about. It is for
// WarningHandlerWithContext of rest.Config.
func Warnings(mask func(string) string) rest.WarningHandlerWithContext {
	return maskedWarnings{mask}
}

type maskedWarnings struct{ mask func(string) string }

func (w maskedWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	rest.WarningLogger{}.HandleWarningHeaderWithContext(ctx, code, agent, w.mask(text))
}
