// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/proompteng/controllerkit/jobgc/hold"
)

// The types of client-go satisfy the interfaces.
var (
	_ hold.Jobs   = metadata.ResourceInterface(nil)
	_ hold.Owners = metadata.ResourceInterface(nil)
	_             = func(c metadata.Interface) (*hold.Sweeper, error) {
		return hold.New(
			c.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace,
			c.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace,
			finalizer,
			hold.Options{},
		)
	}
)
