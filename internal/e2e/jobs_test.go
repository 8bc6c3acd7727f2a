// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/internal/demo/play"
)

// jobWatch has every Job of each run, also deleted ones.
type jobWatch struct {
	mu   sync.Mutex
	jobs map[string]map[types.UID]bool
}

// byRun lists the Jobs so far by the name of their run.
func (w *jobWatch) byRun() map[string]map[types.UID]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	jobs := map[string]map[types.UID]bool{}
	for run, uids := range w.jobs {
		jobs[run] = maps.Clone(uids) // the watch continues
	}
	return jobs
}

// watchJobs records the Jobs of the stage's runs until the test ends.
func watchJobs(t *testing.T, stage *play.Stage) *jobWatch {
	t.Helper()
	w := &jobWatch{jobs: map[string]map[types.UID]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(stage.Kube, 0, informers.WithNamespace(stage.Namespace))
	_, err := factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		job, ok := obj.(*batchv1.Job)
		if !ok {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		run := metav1.GetControllerOf(job).Name
		if w.jobs[run] == nil {
			w.jobs[run] = map[types.UID]bool{}
		}
		w.jobs[run][job.UID] = true
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	factory.StartWithContext(ctx)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	factory.WaitForCacheSyncWithContext(ctx)
	return w
}
