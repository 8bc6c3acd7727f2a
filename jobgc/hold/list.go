// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page is how many objects one request lists.
const page = 500

// list picks what is needed of each object. All pages show the same moment. If
// the API server has dropped that moment before the last page (410 Gone), list
// starts again. The third attempt reads everything as one page.
func list[T any](
	ctx context.Context, from Owners, opts metav1.ListOptions,
	pick func(*metav1.PartialObjectMetadata) (T, bool),
) ([]T, error) {
	for range 2 {
		opts.Limit = page
		picked, err := listPages(ctx, from, opts, pick)
		if !apierrors.IsResourceExpired(err) {
			return picked, err
		}
	}
	opts.Limit = 0
	return listPages(ctx, from, opts, pick)
}

// listPages picks from the pages of one moment.
func listPages[T any](
	ctx context.Context, from Owners, opts metav1.ListOptions,
	pick func(*metav1.PartialObjectMetadata) (T, bool),
) ([]T, error) {
	var picked []T
	for {
		got, err := from.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		if got == nil {
			return nil, errors.New("the client returned neither a list nor an error")
		}
		for i := range got.Items {
			of, ok := pick(&got.Items[i])
			if ok {
				picked = append(picked, of)
			}
		}
		if got.Continue == "" {
			return picked, nil
		}
		opts.Continue = got.Continue
	}
}
