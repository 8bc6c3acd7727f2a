// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalizer is on each Job until its result is recorded, so that a program that
// deletes finished Jobs takes no result away.
const finalizer = "service.example.com/result"

// releaseOrphans removes the finalizer from the Jobs of deleted Reports, for
// which no reconcile comes, until ctx ends.
func (c *controller) releaseOrphans(ctx context.Context) error {
	cached := func(_ context.Context, ns string, owner metav1.OwnerReference) (metav1.Object, error) {
		err := refuseOthers(owner)
		if err != nil {
			return nil, err
		}
		item, found, err := c.cached.GetStore().GetByKey(ns + "/" + owner.Name)
		if err != nil {
			return nil, err
		}
		report, ok := item.(*Report)
		if !found || !ok {
			reports := groupVersion.WithResource("reports").GroupResource()
			return nil, apierrors.NewNotFound(reports, owner.Name)
		}
		return report, nil
	}
	stored := func(ctx context.Context, ns string, owner metav1.OwnerReference) (metav1.Object, error) {
		err := refuseOthers(owner)
		if err != nil {
			return nil, err
		}
		return c.reports(ns).Get(ctx, owner.Name, metav1.GetOptions{})
	}
	return c.jobs.SweepOrphans(ctx, cached, stored)
}

// refuseOthers returns an error for an owner that is not a Report.
func refuseOthers(owner metav1.OwnerReference) error {
	if owner.Kind == "Report" && owner.APIVersion == groupVersion.String() {
		return nil
	}
	return fmt.Errorf("the owner of the Job is %s %s of %s; want a Report",
		owner.Kind, owner.Name, owner.APIVersion)
}
