// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// noDiscovery is a client that a caller has forgotten to make.
type noDiscovery struct{ live.Discovery }

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
		"NothingServed":      {"An answer too.", serving(), false, true},
		"GroupNotFound":      {"The cluster answered: no.", failing(apierrors.NewNotFound(schema.GroupResource{}, "")), false, true},
		"Forbidden":          {"Not known.", failing(apierrors.NewForbidden(schema.GroupResource{}, "", nil)), false, false},
		"Unavailable":        {"Not known.", failing(apierrors.NewServiceUnavailable("starting")), false, false},
		"NoConnection":       {"Not known.", failing(errWire), false, false},
		"NilWithoutAnError":  {"Not known.", failing(nil), false, false},
		"AggregatedNotFound": {"A miss of a cache does not come from the cluster.", failing(errors.New("not found")), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var asked []string
			err := live.Available(fakeDiscovery(func(gv string) (*metav1.APIResourceList, error) {
				asked = append(asked, gv)
				return tc.discovery(gv)
			}))
			assert.Equal(t, []string{"argoproj.io/v1alpha1"}, asked, "one request")
			if tc.served {
				require.NoError(t, err, tc.reason)
				return
			}
			require.Error(t, err, tc.reason)
			assert.Equal(t, tc.missing, errors.Is(err, live.ErrNotInstalled), "%s: %v", tc.reason, err)
		})
	}
	require.ErrorIs(t, live.Available(failing(errWire)), errWire, "the cause is kept")
	for _, none := range []live.Discovery{nil, (*noDiscovery)(nil)} {
		err := live.Available(none)
		require.ErrorContains(t, err, "the discovery client is nil")
		require.NotErrorIs(t, err, live.ErrNotInstalled)
	}
}

// pointer is a client that a pointer without a value is in.
type pointer struct {
	live.Patcher
	live.Creator
}

type patcher func(name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub []string) error

func (p patcher) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, p(name, pt, data, o, sub)
}

func ro() *rollout.Rollout {
	return &rollout.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
}

func TestPreflight_IsAStrictDryRun(t *testing.T) {
	r, calls := ro(), 0
	err := live.Preflight(t.Context(), patcher(func(name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub []string) error {
		calls++
		assert.Equal(t, "web", name)
		assert.Equal(t, types.ApplyPatchType, pt)
		assert.Equal(t, metav1.PatchOptions{DryRun: []string{"All"}, FieldManager: "me", FieldValidation: "Strict"}, o)
		assert.Empty(t, sub)
		var m map[string]any
		require.NoError(t, json.Unmarshal(data, &m))
		assert.Equal(t, "argoproj.io/v1alpha1", m["apiVersion"])
		assert.Equal(t, "Rollout", m["kind"])
		assert.NotContains(t, m, "status")
		return nil
	}), creator(func(*unstructured.Unstructured, metav1.CreateOptions) error { return nil }), r, "me")
	require.NoError(t, err)
	assert.Equal(t, 1, calls)
	assert.Equal(t, ro(), r, "it is not changed")
}

func TestPreflight_Refused(t *testing.T) {
	accepts := creator(func(*unstructured.Unstructured, metav1.CreateOptions) error { return nil })
	gr := schema.GroupResource{Group: "argoproj.io", Resource: "rollouts"}
	notServed := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource",
	}}
	cases := map[string]struct {
		reason  string
		err     error
		missing bool
	}{
		"KindNotServed":    {"The CRD is not there.", notServed, true},
		"NoSuchNamespace":  {"404 too, and of something else.", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), false},
		"UnknownField":     {"Strict.", apierrors.NewBadRequest("strict decoding error: unknown field"), false},
		"Quota":            {"Admission has its say.", apierrors.NewForbidden(gr, "web", errors.New("exceeded quota")), false},
		"ConflictOfOwners": {"As the apply would have it.", apierrors.NewConflict(gr, "web", errors.New("owned")), false},
		"NoConnection":     {"Not known.", errors.New("refused"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := live.Preflight(t.Context(), patcher(func(string, types.PatchType, []byte, metav1.PatchOptions, []string) error { return tc.err }), accepts, ro(), "me")
			require.ErrorIs(t, err, tc.err, tc.reason)
			assert.Equal(t, tc.missing, errors.Is(err, live.ErrNotInstalled), tc.reason)
		})
	}
}

// TestPreflight_AsksForThePodTemplate as a PodTemplate, since the CRD does not
// look into it.
//
//req:shows R3
func TestPreflight_AsksForThePodTemplate(t *testing.T) {
	taken := patcher(func(string, types.PatchType, []byte, metav1.PatchOptions, []string) error { return nil })
	r := ro()
	r.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}
	before, calls := r.DeepCopy(), 0
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "PodTemplate"}, "", nil)
	sideEffects := apierrors.NewBadRequest(`admission webhook "x.example.com" does not support dry run`)
	cases := map[string]struct {
		reason     string
		err        error
		notChecked bool
	}{
		"Taken":       {"It is right.", nil, false},
		"Refused":     {"The server knows the rules for pods.", invalid, false},
		"SideEffects": {"A webhook may not be called in a dry run.", sideEffects, true},
		"BadRequest":  {"Only the message of the dry run means not checked.", apierrors.NewBadRequest("unknown field"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := live.Preflight(t.Context(), taken, creator(func(u *unstructured.Unstructured, o metav1.CreateOptions) error {
				calls++
				assert.Equal(t, metav1.CreateOptions{DryRun: []string{"All"}, FieldManager: "me", FieldValidation: "Strict"}, o)
				assert.Equal(t, "v1 PodTemplate shop", u.GetAPIVersion()+" "+u.GetKind()+" "+u.GetNamespace())
				containers, _, _ := unstructured.NestedSlice(u.Object, "template", "spec", "containers")
				assert.Len(t, containers, 1)
				return tc.err
			}), r, "me")
			if tc.err == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.err, tc.reason)
			require.ErrorContains(t, err, "pod template: ")
			assert.Equal(t, tc.notChecked, errors.Is(err, live.ErrNotChecked), tc.reason)
		})
	}
	assert.Equal(t, len(cases), calls)
	assert.Equal(t, before, r)

	// Both answers are reported, and the apply may need a webhook too.
	err := live.Preflight(t.Context(), patcher(func(string, types.PatchType, []byte, metav1.PatchOptions, []string) error { return sideEffects }),
		creator(func(*unstructured.Unstructured, metav1.CreateOptions) error { return invalid }), r, "me")
	require.ErrorIs(t, err, live.ErrNotChecked)
	require.ErrorIs(t, err, invalid)
	require.Error(t, live.Preflight(t.Context(), taken, nil, r, "me"))
}

type creator func(u *unstructured.Unstructured, o metav1.CreateOptions) error

func (c creator) Create(_ context.Context, u *unstructured.Unstructured, o metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	return u, c(u, o)
}

func TestPreflight_WrongArguments(t *testing.T) {
	accepts := creator(func(*unstructured.Unstructured, metav1.CreateOptions) error { return nil })
	never := patcher(func(string, types.PatchType, []byte, metav1.PatchOptions, []string) error {
		assert.Fail(t, "sent")
		return nil
	})
	unnamed, broken := ro(), ro()
	unnamed.Name = ""
	broken.Spec.Analysis = map[string]any{"x": make(chan int)}
	require.EqualError(t, live.Preflight(t.Context(), nil, accepts, ro(), "me"), "rollout/live: preflight: rollouts is nil; pass dyn.Resource(live.GVR()).Namespace(namespace)")
	require.ErrorContains(t, live.Preflight(t.Context(), never, nil, ro(), "me"), "podTemplates is nil; pass ")
	require.ErrorContains(t, live.Preflight(t.Context(), (*pointer)(nil), accepts, ro(), "me"), "rollouts is nil; pass ")
	require.ErrorContains(t, live.Preflight(t.Context(), never, (*pointer)(nil), ro(), "me"), "podTemplates is nil; pass ")
	require.Error(t, live.Preflight(t.Context(), never, accepts, nil, "me"))
	require.ErrorContains(t, live.Preflight(t.Context(), never, accepts, unnamed, "me"), "metadata.name")
	require.ErrorContains(t, live.Preflight(t.Context(), never, accepts, ro(), ""), "fieldManager")
	require.Error(t, live.Preflight(t.Context(), never, accepts, broken, "me"))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, live.Preflight(ctx, never, accepts, ro(), "me"), context.Canceled)
}
