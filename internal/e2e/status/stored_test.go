// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/status"
)

// strict is the typed view of the kind whose schema prunes, defaults and
// requires.
type strict struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            strictStatus `json:"status,omitzero"`
}

type strictStatus struct {
	*status.Stamp `json:",inline"`

	Active int32                 `json:"active"`
	Nodes  []string              `json:"nodes"`
	Totals struct{ Failed int }  `json:"totals"`
	Mode   string                `json:"mode,omitempty"`
	Extra  *runtime.RawExtension `json:"extra,omitempty"`
}

func (s *strict) DeepCopyObject() runtime.Object { return s.DeepCopy() }

func (s *strict) DeepCopy() *strict {
	out := new(strict)
	if m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s); err == nil {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(m, out)
	}
	return out
}

func (s *stage) readStrict(t *testing.T, name string) *strict {
	t.Helper()
	u, err := s.theirs.dynamic(stricts).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	out, err := decode[strict](u)
	require.NoError(t, err)
	return out
}

// TestCommit_WhatTheSchemaDoesNotKeepIsOneWrite: equal reconciles write once
// and report once, even if the CRD changes the status. The first write has the
// fields that the schema requires, although they are zero.
func TestCommit_WhatTheSchemaDoesNotKeepIsOneWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		stored string // before the first reconcile
		set    func(*strictStatus)
		path   string
	}{
		"Cleared": {
			"The default undoes the write.", `{"active":0,"nodes":["n"],"totals":{"Failed":0},"mode":"Manual"}`,
			func(r *strictStatus) { r.Mode = "" }, "status.mode",
		},
		"Forms": {"One value has several forms in JSON.", "", func(r *strictStatus) {
			r.Extra = &runtime.RawExtension{Raw: []byte(`{"a":1.0,"b":1e3,"c":"\u00e9\/"}`)}
		}, ""},
		"Text": {"The API server stores valid UTF-8.", "", func(r *strictStatus) { r.Nodes = []string{"a\xff\xfeb"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.object(t, stricts, "a")
			if tc.stored != "" {
				require.NoError(t, merge(`{"status":`+tc.stored+`}`)(t, s.theirs.dynamic(stricts), names{}))
			}
			w := via(typed[strict](s.ours.dynamic(stricts)), status.Writer{})
			var failed []error
			for range 5 {
				before := s.readStrict(t, "a")
				after := before.DeepCopy()
				after.Status.Nodes = []string{}
				tc.set(&after.Status)
				if _, err := w.Commit(t.Context(), before, after, running); err != nil {
					failed = append(failed, err)
				}
			}
			assert.Len(t, s.wire.Take(), 1, tc.reason)
			if tc.path == "" {
				assert.Empty(t, failed, tc.reason)
			} else if assert.Len(t, failed, 1, tc.reason) {
				assert.ErrorContains(t, failed[0], tc.path)
			}
		})
	}
}
