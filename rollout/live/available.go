// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/rollout"
)

// ErrNotInstalled says that the cluster answered and does not serve the kind. It is returned wrapped.
var ErrNotInstalled = errors.New("rollout/live: the cluster does not serve kind Rollout of argoproj.io/v1alpha1; install Argo Rollouts, or leave progressive delivery off")

// Discovery is what Available needs of client-go's discovery.DiscoveryInterface.
type Discovery interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Patcher is what Preflight needs of client-go's dynamic.ResourceInterface.
type Patcher interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

// GVR is rollouts of argoproj.io/v1alpha1, as dynamic clients take it.
func GVR() schema.GroupVersionResource {
	return rollout.GVK().GroupVersion().WithResource("rollouts")
}

// Available asks by one discovery request, which needs no right to read CRDs, whether the cluster serves the kind Rollout.
// Nil: it does. [ErrNotInstalled]: it answered that it does not. Any other error: not known, and a reason neither to go on
// nor to fall back to a Deployment. Use a client without a cache: a miss of a cached discovery is not known, however long. How long the
// request may take is the timeout of its rest.Config.
func Available(d Discovery) error {
	if d == nil {
		return errors.New("rollout/live: available: the discovery client is nil")
	}
	list, err := d.ServerResourcesForGroupVersion(GVR().GroupVersion().String())
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", ErrNotInstalled, err)
	case err != nil:
		return fmt.Errorf("rollout/live: available: not known: %w", err)
	case list == nil:
		return errors.New("rollout/live: available: not known: the discovery client returned no list")
	}
	// The group version alone proves nothing: Applications and Workflows live in it too.
	if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == rollout.GVK().Kind && r.Name == GVR().Resource
	}) {
		return ErrNotInstalled
	}
	return nil
}

// Preflight sends r as a server-side apply that the server carries out but for storing it, and refuses unknown fields:
// the schema, quota, admission and conflicts with other field managers all have their say. c is a dynamic client for r's namespace,
// fieldManager the name that you will apply with. [ErrNotInstalled], wrapped, if the cluster does not know the kind.
//
// The CRD checks little; run rollout.Validate too. A pod template is not looked into: dry-run the Deployment for that.
func Preflight(ctx context.Context, c Patcher, r *rollout.Rollout, fieldManager string) error {
	switch {
	case c == nil:
		return errors.New("rollout/live: preflight: the client is nil")
	case r == nil:
		return errors.New("rollout/live: preflight: the Rollout is nil")
	case r.Name == "":
		return errors.New("rollout/live: preflight: metadata.name: an apply needs one")
	case fieldManager == "":
		return errors.New("rollout/live: preflight: fieldManager: an apply needs one")
	}
	named := *r
	named.APIVersion, named.Kind = rollout.GVK().ToAPIVersionAndKind()
	data, err := json.Marshal(&named)
	if err != nil {
		return fmt.Errorf("rollout/live: preflight: %w", err)
	}
	_, err = c.Patch(ctx, r.Name, types.ApplyPatchType, data, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict,
	})
	if err == nil {
		return nil
	}
	if missing(err) {
		return fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	return fmt.Errorf("rollout/live: preflight: %w", err)
}

// missing tells a kind that is not served from a namespace that does not exist: both are 404, and an apply knows no other.
func missing(err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Details == nil || status.Status().Details.Kind != "namespaces"
}
