// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/rollout"
)

// noDiscovery is a client that a caller has forgotten to make.
type noDiscovery struct{ rollout.Discovery }

type fakeDiscovery func(groupVersion string) (*metav1.APIResourceList, error)

func (d fakeDiscovery) ServerResourcesForGroupVersion(gv string) (*metav1.APIResourceList, error) {
	return d(gv)
}

func serving(resources ...metav1.APIResource) fakeDiscovery {
	return func(string) (*metav1.APIResourceList, error) {
		return &metav1.APIResourceList{GroupVersion: "argoproj.io/v1alpha1", APIResources: resources}, nil
	}
}

func failing(err error) fakeDiscovery {
	return func(string) (*metav1.APIResourceList, error) { return nil, err }
}

//req:shows R4
func TestAvailable(t *testing.T) {
	var (
		rollouts = metav1.APIResource{Name: "rollouts", Kind: "Rollout"}
		status   = metav1.APIResource{Name: "rollouts/status", Kind: "Rollout"}
		argoCD   = metav1.APIResource{Name: "applications", Kind: "Application"}
		errWire  = errors.New("connection refused")
	)
	cases := map[string]struct {
		reason    string
		discovery fakeDiscovery
		served    bool
		missing   bool
	}{
		"Served":             {"The kind is there.", serving(argoCD, rollouts, status), true, false},
		"OnlyArgoCD":         {"The same group version, and not the kind.", serving(argoCD), false, true},
		"OnlyASubresource":   {"A subresource is not the kind.", serving(status), false, true},
		"NothingServed":      {"An empty list is an answer too.", serving(), false, true},
		"GroupNotFound":      {"The cluster answered: no.", failing(apierrors.NewNotFound(schema.GroupResource{}, "")), false, true},
		"Forbidden":          {"A refusal is not about the CRD.", failing(apierrors.NewForbidden(schema.GroupResource{}, "", nil)), false, false},
		"Unavailable":        {"An overloaded server does not know.", failing(apierrors.NewServiceUnavailable("starting")), false, false},
		"NoConnection":       {"Without an answer nothing is known.", failing(errWire), false, false},
		"NilWithoutAnError":  {"No list and no error is no answer.", failing(nil), false, false},
		"AggregatedNotFound": {"A miss of a cache does not come from the cluster.", failing(errors.New("not found")), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var asked []string
			err := rollout.Available(fakeDiscovery(func(gv string) (*metav1.APIResourceList, error) {
				asked = append(asked, gv)
				return tc.discovery(gv)
			}))
			assert.Equal(t, []string{"argoproj.io/v1alpha1"}, asked, "one request")
			if tc.served {
				require.NoError(t, err, tc.reason)
				return
			}
			require.Error(t, err, tc.reason)
			assert.Equal(t, tc.missing, errors.Is(err, rollout.ErrNotInstalled), "%s: %v", tc.reason, err)
		})
	}
	require.ErrorIs(t, rollout.Available(failing(errWire)), errWire, "the cause is kept")
	for _, none := range []rollout.Discovery{nil, (*noDiscovery)(nil)} {
		err := rollout.Available(none)
		require.ErrorContains(t, err, "the discovery client is nil")
		require.NotErrorIs(t, err, rollout.ErrNotInstalled)
	}
}
