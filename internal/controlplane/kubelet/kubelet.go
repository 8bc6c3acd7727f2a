// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubelet is a fake scheduler and kubelet: pods get a node, run, and
// end, but no container runs.
//
// A Job completes only if something ends its pods. Without nodes this package
// does: it creates a node, binds every unbound pod to it, sets the pod to
// Running, and ends it as its annotations say.
//
//	k := kubelet.New(client)
//	err := k.Register(ctx) // creates the node
//	err = k.Start(ctx)     // blocks
//
// # Annotations
//
//	controlplane.controllerkit.dev/outcome  succeed, fail or never (stays Running)
//	controlplane.controllerkit.dev/delay    how long the pod runs; default 300ms
//
// The default outcome is succeed, and never for a pod whose restartPolicy is
// Always, as in a Deployment. A pod with an unknown value stays as it is; the
// log says why. A deleted pod ends with exit code 143, like a program that
// obeys SIGTERM, and is removed. OnFailure is treated as Never: nothing
// restarts.
//
// # RBAC
//
// pods: get, list, watch, delete; pods/binding: create; pods/status: update;
// nodes: create.
//
// # When not to use it
//
// Do not use it if a scheduler or another kubelet serves the same pods.
package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// NodeName is the node that all pods are bound to.
const NodeName = "controlplane"

// workers is the number of pods that are served concurrently. Each takes a few
// requests; more would only queue at the API server.
const workers = 16

// Kubelet serves the pods of a whole cluster. Make one with [New].
type Kubelet struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	seen   sync.Map // when a pod was first seen running, by its uid
}

// New returns a Kubelet that uses client. Set a high rate limit of the client,
// or none. It starts nothing.
func New(client kubernetes.Interface) *Kubelet {
	const least, most = 10 * time.Millisecond, 2 * time.Second
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](least, most)
	return &Kubelet{client: client, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// Register creates the node, which nothing looks at: only a pod without one is
// collected as garbage.
func (k *Kubelet) Register(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName}}
	if _, err := k.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("kubelet: register: %w", err)
	}
	return nil
}

// Start serves pods until ctx ends, then returns nil once all its workers have
// ended. It survives an API server that is down, slow or restarted: what fails
// is retried, and logged to the context's logger. It can be called once.
func (k *Kubelet) Start(ctx context.Context) error {
	informer := coreinformers.NewTypedPodInformer(k.client, metav1.NamespaceAll, 0, nil)
	if _, err := informer.AddTypedEventHandler(coreinformers.PodHandlerFuncs{
		AddFunc:    func(pod *corev1.Pod) { k.queue.Add(cache.MetaObjectToName(pod)) },
		UpdateFunc: func(_, pod *corev1.Pod) { k.queue.Add(cache.MetaObjectToName(pod)) },
		DeleteFunc: func(gone coreinformers.DeletedPod) { k.queue.Add(gone.GetObjectName()) },
	}); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	pods := corelisters.NewPodLister(informer.GetIndexer())

	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	for range workers {
		running.Go(func() {
			for k.serveNext(ctx, pods) {
			}
		})
	}
	<-ctx.Done()
	k.queue.ShutDown()
	running.Wait()
	return nil
}

// serveNext serves one pod of the queue. It returns false when the queue has
// been shut down.
func (k *Kubelet) serveNext(ctx context.Context, pods corelisters.PodLister) bool {
	name, shutdown := k.queue.Get()
	if shutdown {
		return false
	}
	defer k.queue.Done(name)
	wait, err := k.serve(ctx, pods, name)
	if err != nil && !apierrors.IsNotFound(err) { // the informer reports a pod that is gone or replaced
		if !apierrors.IsConflict(err) { // a conflict only means that the cache is behind
			logr.FromContextOrDiscard(ctx).Error(err, "will be retried", "pod", name.String())
		}
		k.queue.AddRateLimited(name)
		return true
	}
	k.queue.Forget(name)
	if wait > 0 {
		k.queue.AddAfter(name, wait)
	}
	return true
}

// serve takes a pod one step further. A wait above zero says when to look again
// if nothing happens to the pod before.
func (k *Kubelet) serve(
	ctx context.Context, pods corelisters.PodLister, name cache.ObjectName,
) (time.Duration, error) {
	pod, err := pods.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return 0, err
	}
	p, err := planFor(pod)
	if err != nil {
		return 0, err
	}
	switch {
	case pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil:
		return 0, k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: NodeName},
		}, metav1.CreateOptions{})
	case pod.Spec.NodeName != NodeName:
		return 0, nil
	case pod.DeletionTimestamp != nil:
		return 0, k.end(ctx, pod)
	case ended(pod):
		return 0, nil
	case pod.Status.Phase != corev1.PodRunning:
		return 0, k.update(ctx, pod, nil)
	case p.outcome == Never:
		return 0, nil
	}
	// The times in the objects are whole seconds, too coarse for this delay.
	first, _ := k.seen.LoadOrStore(pod.UID, time.Now())
	wait := p.delay - time.Since(first.(time.Time)) //nolint:forcetypeassert // nothing else is stored
	if wait > 0 {
		return wait, nil
	}
	return 0, k.update(ctx, pod, p.ending())
}

// end takes a pod that was deleted one step further.
func (k *Kubelet) end(ctx context.Context, pod *corev1.Pod) error {
	if !ended(pod) { // like a kubelet, so that a Job's controller counts the pod
		return k.update(ctx, pod, &ending{code: 143, reason: "Error", message: "deleted while it ran"})
	}
	if pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return nil // already removed; a finalizer keeps the object
	}
	return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// update writes that the pod runs, or how it has just ended.
func (k *Kubelet) update(ctx context.Context, pod *corev1.Pod, e *ending) error {
	pod = pod.DeepCopy()
	pod.Status = statusAt(metav1.Now(), pod, e)
	_, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
