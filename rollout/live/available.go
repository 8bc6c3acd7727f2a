// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/rollout"
)

// ErrNotInstalled says that the cluster answered and does not serve the kind.
// Match it with errors.Is.
var ErrNotInstalled = errors.New("rollout/live: the cluster does not serve kind Rollout of " +
	"argoproj.io/v1alpha1; install Argo Rollouts, or leave progressive delivery off")

// ErrNotChecked says that the server could not judge a dry run, because an
// admission webhook has side effects. Match it with errors.Is.
var ErrNotChecked = errors.New("rollout/live: preflight: not checked, " +
	"because an admission webhook with side effects takes part in no dry run")

// Discovery is what Available needs of client-go's
// discovery.DiscoveryInterface.
type Discovery interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Patcher is what Preflight needs of client-go's dynamic.ResourceInterface.
type Patcher interface {
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte,
		options metav1.PatchOptions, subresources ...string,
	) (*unstructured.Unstructured, error)
}

// Creator is what Preflight needs of client-go's dynamic.ResourceInterface for
// podtemplates.
type Creator interface {
	Create(
		ctx context.Context, obj *unstructured.Unstructured,
		options metav1.CreateOptions, subresources ...string,
	) (*unstructured.Unstructured, error)
}

// GVR returns rollouts of argoproj.io/v1alpha1, as dynamic clients take it.
func GVR() schema.GroupVersionResource {
	return rollout.GVK().GroupVersion().WithResource("rollouts")
}

// Available reports, by one discovery request, whether the cluster serves the
// kind Rollout. It returns nil if it does and [ErrNotInstalled] if it does not.
// After any other error nothing is known: do not apply a Rollout, and do not
// fall back to a Deployment. The request needs no right to read CRDs. Use a
// client without a cache: a cached discovery may not know the kind yet. The
// timeout of the rest.Config bounds the request.
func Available(d Discovery) error {
	if isnil.Is(d) {
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
	// The group version alone proves nothing: Applications and Workflows live
	// in it too.
	served := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == rollout.GVK().Kind && r.Name == GVR().Resource
	})
	if !served {
		return ErrNotInstalled
	}
	return nil
}

// Preflight asks the API server whether it would take r, by two strict dry runs
// that store and start nothing, and joins what both refuse.
//
// The first is the server-side apply of r: the schema, quota, admission and
// conflicts with other field managers. rollouts is a dynamic client for r's
// namespace, fieldManager the name that you will apply with. The error is
// [ErrNotInstalled], wrapped, if the cluster does not know the kind.
//
// The second creates a core/v1 PodTemplate of r's pod template, because the CRD
// lets nearly every mistake in it pass, and the controller finds them after the
// switch. podTemplates is a dynamic client for podtemplates of the namespace. A
// Rollout with a workloadRef has no template to check.
//
// [ErrNotChecked], wrapped, means that an admission webhook with side effects
// kept the server from answering. rollout.Validate checks without a cluster,
// and checks rules that the server does not know, such as the restartPolicy.
func Preflight(
	ctx context.Context, rollouts Patcher, podTemplates Creator, r *rollout.Rollout, fieldManager string,
) error {
	missing := ""
	switch {
	case isnil.Is(rollouts):
		missing = "rollouts is nil; pass dyn.Resource(live.GVR()).Namespace(namespace)"
	case isnil.Is(podTemplates):
		missing = "podTemplates is nil; pass a dynamic client for podtemplates of the namespace"
	case r == nil:
		missing = "the Rollout is nil"
	case r.Name == "":
		missing = "metadata.name: an apply needs one"
	case fieldManager == "":
		missing = "fieldManager: an apply needs one"
	}
	if missing != "" {
		return errors.New("rollout/live: preflight: " + missing)
	}
	return errors.Join(
		asRollout(ctx, rollouts, r, fieldManager),
		podTemplate(ctx, podTemplates, r, fieldManager),
	)
}

// asRollout has the server judge the apply of the Rollout.
func asRollout(ctx context.Context, c Patcher, r *rollout.Rollout, fieldManager string) error {
	named := *r
	named.APIVersion, named.Kind = rollout.GVK().ToAPIVersionAndKind()
	data, err := json.Marshal(&named)
	if err != nil {
		return fmt.Errorf("rollout/live: preflight: %w", err)
	}
	_, err = c.Patch(ctx, r.Name, types.ApplyPatchType, data, metav1.PatchOptions{
		DryRun:          []string{metav1.DryRunAll},
		FieldManager:    fieldManager,
		FieldValidation: metav1.FieldValidationStrict,
	})
	if missing(err) {
		return fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	return refused("", err)
}

// podTemplate has the server judge the pod template by its own rules.
func podTemplate(ctx context.Context, c Creator, r *rollout.Rollout, fieldManager string) error {
	if r.Spec.Template == nil {
		return nil
	}
	template := &corev1.PodTemplate{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PodTemplate"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "preflight-", Namespace: r.Namespace},
		Template:   *r.Spec.Template,
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return fmt.Errorf("rollout/live: preflight: pod template: %w", err)
	}
	_, err = c.Create(ctx, &unstructured.Unstructured{Object: tree}, metav1.CreateOptions{
		DryRun:          []string{metav1.DryRunAll},
		FieldManager:    fieldManager,
		FieldValidation: metav1.FieldValidationStrict,
	})
	return refused("pod template: ", err)
}

// refused wraps an answer. A server does not call a webhook with side effects
// in a dry run, and gives up.
func refused(what string, err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run") {
		return fmt.Errorf("%w: %s%w", ErrNotChecked, what, err)
	}
	return fmt.Errorf("rollout/live: preflight: %s%w", what, err)
}

// missing tells a kind that is not served from a namespace that does not exist:
// both are 404, and an apply knows no other.
func missing(err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	details := status.Status().Details
	return details == nil || details.Kind != "namespaces"
}
