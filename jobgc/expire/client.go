// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package expire

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ForClient is [New] for controller-runtime's client. The type arguments are
// inferred. The function option makes one option of the client, which must
// carry the preconditions, the run's uid and resourceVersion:
//
//	option := func(o metav1.DeleteOptions) client.DeleteOption {
//		return &client.DeleteOptions{Preconditions: o.Preconditions, PropagationPolicy: o.PropagationPolicy}
//	}
//	sweeper, err := expire.ForClient(mgr.GetClient(), option, list, finished, server, opts)
//
// The function list returns the cached runs, such as pointers to the items of a
// List by mgr.GetCache().
func ForClient[T, O, D any, R interface {
	*T
	metav1.Object
}](
	client interface {
		Delete(ctx context.Context, obj O, opts ...D) error
	},
	option func(metav1.DeleteOptions) D, list func() []any,
	finished func(run R) (at time.Time, own *int32), server *ServerTime, opts Options,
) (*Sweeper, error) {
	var errs []error
	if client != nil && option == nil {
		errs = append(errs, errors.New("jobgc/expire: new: option is nil; want a function that returns "+
			"the preconditions as an option of the client"))
	}
	_, deletes := any(R(new(T))).(O)
	if !deletes {
		errs = append(errs, fmt.Errorf("jobgc/expire: new: client: it does not delete a %T", R(nil)))
	}
	var clients func(namespace string) Runs
	if client != nil {
		clients = func(namespace string) Runs {
			return deleter(func(ctx context.Context, name string, opts metav1.DeleteOptions) error {
				run := R(new(T))
				run.SetNamespace(namespace)
				run.SetName(name)
				obj, deletes := any(run).(O)
				if !deletes {
					return fmt.Errorf("the client does not delete a %T", run)
				}
				return client.Delete(ctx, obj, option(opts))
			})
		}
	}
	sweeper, err := New(clients, list, finished, server, opts)
	err = errors.Join(append(errs, err)...)
	if err != nil {
		return nil, err
	}
	return sweeper, nil
}

// deleter deletes a run by its name.
type deleter func(ctx context.Context, name string, opts metav1.DeleteOptions) error

func (d deleter) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return d(ctx, name, opts)
}
