// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// result is the finalizer of each Job, so that a program that deletes finished
// Jobs takes no result away. It goes when the result is recorded.
const result = "service.example.com/result"

// releaseOrphans removes the finalizer from the Jobs of deleted Reports, until
// ctx ends. No reconcile comes for them.
func (c *controller) releaseOrphans(ctx context.Context) error {
	return c.jobs.SweepOrphans(ctx, c.cachedOwner, c.storedOwner)
}

//nolint:ireturn // jobgc takes owners of each type
func (c *controller) cachedOwner(
	_ context.Context, namespace string, owner metav1.OwnerReference,
) (metav1.Object, error) {
	err := refuseOthers(owner)
	if err != nil {
		return nil, err
	}
	item, found, err := c.cached.GetStore().GetByKey(namespace + "/" + owner.Name)
	if err != nil {
		return nil, err
	}
	report, ok := item.(*Report)
	if !found || !ok {
		return nil, apierrors.NewNotFound(groupVersion.WithResource("reports").GroupResource(), owner.Name)
	}
	return report, nil
}

//nolint:ireturn // jobgc takes owners of each type
func (c *controller) storedOwner(
	ctx context.Context, namespace string, owner metav1.OwnerReference,
) (metav1.Object, error) {
	err := refuseOthers(owner)
	if err != nil {
		return nil, err
	}
	return c.reports(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
}

// refuseOthers returns an error for an owner that is not a Report.
func refuseOthers(owner metav1.OwnerReference) error {
	if owner.Kind == "Report" && owner.APIVersion == groupVersion.String() {
		return nil
	}
	return fmt.Errorf("the Job is owned by %s %s of %s; want a Report",
		owner.Kind, owner.Name, owner.APIVersion)
}
