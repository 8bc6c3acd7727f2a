// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applyconfiguration holds the apply configuration of status.Stamp, for
// kinds whose apply configurations are generated.
//
// The generators write a With method for each field of an embedded type. They
// must know where that type has its own apply configuration, or the methods do
// not compile. In hack/update-codegen.sh add one line to
// kube::codegen::gen_client:
//
//	--applyconfig-externals github.com/proompteng/controllerkit/status.Stamp:github.com/proompteng/controllerkit/status/applyconfiguration
//
// The flag of applyconfiguration-gen itself takes the same value and is called
// --external-applyconfigurations. controller-gen has an option from v0.21 on,
// with "@" as the separator:
//
//	controller-gen applyconfiguration:externalApplyConfigurations=github.com/proompteng/controllerkit/status.Stamp@github.com/proompteng/controllerkit/status/applyconfiguration
//
// # When not to use it
//
// A kind without generated apply configurations does not need it. For an older
// controller-gen, declare the four fields of status.Stamp in the status instead
// of embedding it. Package status treats both the same.
package applyconfiguration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StampApplyConfiguration is the apply configuration of status.Stamp. Generated
// code embeds it, and its With methods set the fields.
type StampApplyConfiguration struct {
	// ObservedGeneration is applied if it is not nil.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
	// UpdatedAt is applied if it is not nil.
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
	// StartedAt is applied if it is not nil.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// FinishedAt is applied if it is not nil.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}
