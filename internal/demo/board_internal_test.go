// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/jobgc"
)

// The players read the API server and the lines come from a watch, which may be
// seconds behind on a loaded machine.
func TestShown_WaitsForAWatchThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := &play.Sample{Run: &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: "many"}}, Copies: 3}
		var out bytes.Buffer
		b := newBoard(&out, []*play.Sample{many}, new(play.Jobs))
		go func() {
			for _, name := range many.Names() {
				<-time.After(5 * time.Second)
				run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: name}}
				b.change(nil, run)
				run = run.DeepCopy()
				run.Status.Phase = v1alpha1.Succeeded
				run.Status.JobRef = &jobgc.Ref{UID: types.UID(name)}
				b.change(nil, run)
				<-time.After(5 * time.Second)
				b.change(nil, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
					UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{Name: name, Controller: new(true)}},
				}})
			}
		}()
		began := time.Now()
		require.NoError(t, b.shown(t.Context(), []*play.Sample{many}))
		assert.Contains(t, out.String(), "many            3 Succeeded\n", "the last line is printed")
		assert.InDelta(t, 30, time.Since(began).Seconds(), 0.1)
	})
}
