// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgctest_test

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/jobgctest"
)

// run is the owner of a Job.
type run struct {
	metav1.ObjectMeta

	ref *jobgc.Ref
}

func (r *run) request() jobgc.Request {
	return jobgc.Request{
		Owner: r, Ref: r.ref,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return r, r.ref, false, nil },
		Job: func() (*batchv1.Job, error) {
			owner := *metav1.NewControllerRef(r, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}}}, nil
		},
	}
}

func newRun() *run {
	return &run{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly", UID: "4f1c"}}
}

// A unit test of a controller, on client-go's fake clientset.
func ExampleGiveUIDs() {
	ctx, clientset := context.Background(), fake.NewClientset()
	jobgctest.GiveUIDs(clientset)
	guard, err := jobgc.New(clientset.BatchV1().Jobs, nil, jobgc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ref, found, err := guard.Step(ctx, newRun().request())
	fmt.Println(ref.Name, ref.UID != "", found.State, err)
	// Output: run-4f1c true Active <nil>
}
