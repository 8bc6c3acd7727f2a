// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
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
func TestDrawn_WaitsForAWatchThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := &play.Sample{Run: &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: "many"}}, Copies: 3}
		var out bytes.Buffer
		b := newBoard(&out, []*play.Sample{many}, new(play.Jobs))
		l := newLive([]*play.Sample{many}, new(play.Jobs))
		go func() {
			for _, name := range many.Names() {
				<-time.After(5 * time.Second)
				created := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: name}}
				ended := created.DeepCopy()
				ended.Status.Phase = v1alpha1.Succeeded
				ended.Status.JobRef = &jobgc.Ref{UID: types.UID(name)}
				b.change(nil, created)
				l.change(nil, created)
				b.change(created, ended)
				l.change(created, ended)
				<-time.After(5 * time.Second)
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{Name: name, Controller: new(true)}}}}
				b.change(nil, job)
				l.change(nil, job)
			}
		}()
		began := time.Now()
		require.NoError(t, drawn(t.Context(), []*play.Sample{many}, b.ended))
		assert.Contains(t, out.String(), "many            3 Succeeded\n", "the last line is printed")
		assert.InDelta(t, 30, time.Since(began).Seconds(), 0.1)
		require.NoError(t, drawn(t.Context(), []*play.Sample{many}, l.ended))
	})
}

func TestDrawn_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		one := &play.Sample{Run: &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, Copies: 1}
		err := drawn(ctx, []*play.Sample{one}, newLive(nil, new(play.Jobs)).ended)
		require.ErrorIs(t, err, context.DeadlineExceeded, fmt.Sprint(err))
	})
}
