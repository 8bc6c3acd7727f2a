// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"context"
	"errors"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// Grant gives a user these rules in a namespace, with a Role and a RoleBinding
// of this name. It returns when the API server allows what they say.
func Grant(
	ctx context.Context, kube kubernetes.Interface, namespace, name, user string, rules ...rbacv1.PolicyRule,
) error {
	meta := metav1.ObjectMeta{Name: name}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	_, err := kube.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{})
	_, bound := kube.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if err := errors.Join(err, bound); err != nil {
		return err
	}
	reviews := kube.AuthorizationV1().SubjectAccessReviews()
	for _, right := range Rights(rules) {
		attributes := &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: right.Verb, Group: right.Group,
		}
		attributes.Resource, attributes.Subresource, _ = strings.Cut(right.Resource, "/")
		question := &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes},
		}
		allowed := func(ctx context.Context) (bool, error) {
			review, err := reviews.Create(ctx, question, metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			return review.Status.Allowed, nil
		}
		if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, allowed); err != nil {
			return err
		}
	}
	return nil
}
