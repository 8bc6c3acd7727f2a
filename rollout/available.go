// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// ErrNotInstalled says that the cluster answered and does not serve the kind.
// Match it with errors.Is.
var ErrNotInstalled = errors.New("rollout: the cluster does not serve kind Rollout of " +
	"argoproj.io/v1alpha1; install Argo Rollouts, or leave progressive delivery off")

// Discovery is what Available needs of client-go's
// discovery.DiscoveryInterface.
type Discovery interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Available reports, by one discovery request, whether the cluster serves the
// kind Rollout. It returns nil if it does and [ErrNotInstalled] if it does not.
// After any other error nothing is known: do not apply a Rollout, and do not
// fall back to a Deployment. The request needs no right to read CRDs. Use a
// client without a cache: a cached discovery may not know the kind yet. The
// timeout of the rest.Config bounds the request.
//
// A CRD does not mean that a controller runs: a Rollout without a controller
// has an empty status forever.
func Available(d Discovery) error {
	if isnil.Is(d) {
		return errors.New("rollout: available: the discovery client is nil")
	}
	list, err := d.ServerResourcesForGroupVersion(apiVersion)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", ErrNotInstalled, err)
	case err != nil:
		return fmt.Errorf("rollout: available: not known: %w", err)
	case list == nil:
		return errors.New("rollout: available: not known: the discovery client returned no list")
	}
	// The group version alone proves nothing: Argo CD and Argo Workflows serve
	// it too.
	served := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == "rollouts"
	})
	if !served {
		return ErrNotInstalled
	}
	return nil
}
