// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/events/redact"
	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/expire"
	"github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/status"
)

const (
	// name of this controller in Events.
	name = "agents.controllerkit.dev/agentrun"
	// workers is how many runs are reconciled concurrently. A hundred runs
	// whose creation hangs take half a minute of them.
	workers = 50
	// watchTimeout ends a watch that is dead. The API server ends one after 5
	// to 10 minutes, but it or a proxy may accept a watch and then never send
	// or close anything.
	watchTimeout = 11 * time.Minute
	// podsTimeout is how long a Job that runs may have no pod by default.
	podsTimeout = 30 * time.Second
	// DrainTimeout is how long Events are written after the manager has
	// stopped. With the manager's own time it must be less than the 30 seconds
	// of a pod.
	DrainTimeout = 9 * time.Second
)

// Options configure the controller. Metrics may be nil, and have the tracer.
type Options struct {
	Namespaces []string        // whose runs are reconciled; none means all
	Selector   labels.Selector // of the runs that are reconciled; nil means all
	Retention  settings.Settings
	Events     events.Options
	Metrics    *metrics.Metrics

	// NoPodsAfter is how long a Job that runs may have no pod until its run says
	// so. Zero means 30 seconds. Kubernetes usually creates it within one.
	NoPodsAfter time.Duration
}

// NewManager returns a manager with the controller, and the recorder of its
// Events: call recorder.RunWith(ctx, mgr.Start). It asks the API server for the
// kinds that it serves.
//
//nolint:ireturn // a manager has no concrete type
func NewManager(
	ctx context.Context, config *rest.Config, options ctrl.Options, o Options,
) (ctrl.Manager, *events.Recorder, error) {
	secrets := new(redact.SecretValues)
	server := new(expire.ServerTime)
	config = rest.CopyConfig(config)
	config.Timeout = watchTimeout
	config.WarningHandlerWithContext = maskedWarnings{secrets}
	config.Wrap(server.Wrap)
	config.Wrap(kube.Transport(o.Metrics))
	options.Scheme = runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(options.Scheme), v1alpha1.AddToScheme(options.Scheme))
	if err != nil {
		return nil, nil, err
	}
	options.Cache = o.cache()
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, nil, err
	}
	config = rest.CopyConfig(config)
	if config.ContentType == "" { // of built-in kinds: a custom resource has no protobuf
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	r, err := newReconciler(ctx, mgr, config, secrets, o)
	if err != nil {
		return nil, nil, err
	}
	recorder, err := newRecorder(mgr, config, r, o.Events)
	if err != nil {
		return nil, nil, err
	}
	r.events = recorder
	err = r.followRuns(ctx, mgr, server, o)
	if err != nil {
		return nil, nil, err
	}
	ofController, err := r.options() //nolint:contextcheck // a queue has no context
	if err != nil {
		return nil, nil, err
	}
	warnings := o.Retention.Warnings()
	mgr.GetLogger().Info("Retention", append(o.Retention.LogValues(), "warnings", warnings)...)
	return mgr, recorder, ctrl.NewControllerManagedBy(mgr).
		For(new(v1alpha1.AgentRun), builder.WithPredicates(predicate.Funcs{UpdateFunc: concerns})).
		Owns(new(batchv1.Job)).
		WithOptions(ofController).
		Complete(r)
}

// newReconciler returns a Reconciler without a recorder. Its client is of one
// group, because a Clientset of all groups is a megabyte of the program.
func newReconciler(
	ctx context.Context, mgr ctrl.Manager, config *rest.Config,
	secrets *redact.SecretValues, o Options,
) (*Reconciler, error) {
	measured := o.Metrics.Controller("agentrun")
	measured.SetWorkers(workers)
	runs := measured.Runs()
	runs.Retention(o.Retention.Jobs.SucceededTTL, o.Retention.RunTTL, o.Retention.LogTTL)

	informer, err := mgr.GetCache().GetInformer(ctx, new(batchv1.Job))
	if err != nil {
		return nil, err
	}
	showAge(o.Metrics, "jobs", informer)
	batch, err := batchv1client.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	keep := jobgc.Options{Retention: o.Retention.Jobs}
	guard, err := jobgc.New(batch.Jobs, jobgc.FromCache(mgr.GetCache()), keep)
	if err != nil {
		return nil, err
	}

	writer := status.ForClient(mgr.GetClient())
	writer.Owned = conditionTypes
	writer.Heartbeat = heartbeat
	writer.OnCommit = measured.StatusWrites()
	return &Reconciler{
		Client: mgr.GetClient(), live: mgr.GetAPIReader(), jobs: guard, jobsIn: batch.Jobs,
		writer: writer, secrets: secrets, measured: measured, runs: runs,
		noPodsAfter: cmp.Or(o.NoPodsAfter, podsTimeout),
	}, nil
}

// newRecorder returns the recorder of the controller's Events.
func newRecorder(
	mgr ctrl.Manager, config *rest.Config, r *Reconciler, o events.Options,
) (*events.Recorder, error) {
	group, err := eventsv1client.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	o.Scheme = mgr.GetScheme()
	o.Redact = r.secrets.Redact
	o.OnResult = r.measured.Events()
	o.DrainTimeout = DrainTimeout
	sink := events.NewSink(group.Events, core.Events)
	return events.New(sink, name, o)
}

// followRuns has the cached runs counted, and deleted when their retention is
// over.
func (r *Reconciler) followRuns(
	ctx context.Context, mgr ctrl.Manager, server *expire.ServerTime, o Options,
) error {
	informer, err := mgr.GetCache().GetInformer(ctx, new(v1alpha1.AgentRun))
	if err != nil {
		return err
	}
	showAge(o.Metrics, "agentruns", informer)
	all := list(ctx, mgr.GetCache())
	o.Metrics.ObserveConditions("AgentRun", conditions(all))
	countRunning := func(context.Context) error { // by the leader: a standby has the same cache
		_, err := informer.AddEventHandler(running(r.runs))
		return err
	}
	// A search sends no request.
	retention := expire.Options{TTL: o.Retention.RunTTL, Interval: 10 * time.Second}
	runs := func(namespace string) runsIn { return runsIn{mgr.GetClient(), namespace} }
	expired, err := expire.New(runs, all, finished, server, retention)
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(expired)
	return errors.Join(err, mgr.Add(expired), mgr.Add(manager.RunnableFunc(countRunning)))
}

// options are the controller's workers, and controller-runtime's queue,
// measured.
func (r *Reconciler) options() (controller.Options, error) {
	queues, err := kube.QueueProvider(r.measured)
	ofRun := workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](
		shortestBackoff, longestBackoff,
	)
	ofAll := &workqueue.TypedBucketRateLimiter[ctrl.Request]{Limiter: rate.NewLimiter(retriesPerSecond, 10)}
	return controller.Options{
		MaxConcurrentReconciles: workers,
		ReconciliationTimeout:   attemptTimeout,
		RateLimiter:             workqueue.NewTypedMaxOfRateLimiter(ofRun, ofAll),
		NewQueue: func(
			name string, limiter workqueue.TypedRateLimiter[ctrl.Request],
		) workqueue.TypedRateLimitingInterface[ctrl.Request] {
			return priorityqueue.New(name, func(o *priorityqueue.Opts[ctrl.Request]) {
				o.RateLimiter = limiter
				o.MetricProvider = queues
			})
		},
	}, err
}

// concerns filters updates, so that the controller's own status writes cause no
// reconcile.
func concerns(e event.UpdateEvent) bool { return status.NeedsReconcile(e.ObjectOld, e.ObjectNew) }

// cache returns what the manager's cache holds: the selected runs, and the Jobs
// of this controller.
func (o Options) cache() cache.Options {
	ofRuns, _ := labels.NewRequirement(runLabel, selection.Exists, nil) // a constant is valid
	runs := cache.ByObject{Label: o.Selector}
	jobs := cache.ByObject{Label: labels.NewSelector().Add(*ofRuns)}
	cached := cache.Options{DefaultTransform: trim}
	switch len(o.Namespaces) {
	case 0:
	case 1: // such a cache has an age, see showAge
		in := fields.OneTermEqualSelector("metadata.namespace", o.Namespaces[0])
		runs.Field = in
		jobs.Field = in
	default:
		cached.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range o.Namespaces {
			cached.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	cached.ByObject = map[client.Object]cache.ByObject{new(v1alpha1.AgentRun): runs, new(batchv1.Job): jobs}
	return cached
}

// trim drops what the controller does not read again. A run or a Job can have a
// megabyte, and there may be thousands.
func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *batchv1.Job:
		o.Spec.Template = corev1.PodTemplateSpec{}
	case *v1alpha1.AgentRun:
		if o.Status.JobRef != nil || o.Status.Phase.Terminal() { // its Job is not built again
			o.Spec.Command = nil
			o.Spec.Args = nil
			o.Spec.Parameters = nil
			o.Spec.PodAnnotations = nil
		}
	}
	return cache.TransformStripManagedFields()(obj)
}

// showAge exports the age of a cache. The cache of several namespaces has none.
func showAge(m *metrics.Metrics, resource string, informer cache.Informer) {
	if one, ok := informer.(kube.Informer); ok {
		kube.NewCache(m, resource, one)
	}
}

// maskedWarnings logs the warnings that come with an answer of the API server.
// An admission webhook writes some of them, and may quote a Secret.
type maskedWarnings struct{ secrets *redact.SecretValues }

// HandleWarningHeaderWithContext is called for each warning.
func (w maskedWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	masked := redact.Note(text, w.secrets.Redact)
	rest.WarningLogger{}.HandleWarningHeaderWithContext(ctx, code, agent, masked)
}
