// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/world"
)

const configMaps = "configmaps"

var names = world.Key{Resource: configMaps, Namespace: "default", Name: "names"}

// adder is a controller that adds its name to the data of a ConfigMap.
type adder struct {
	name     string
	isPinned bool // it writes only what it has read
	isCached bool // it reads from its cache
}

func (a adder) begin(api *world.API) world.Process {
	client := world.NewClient[corev1.ConfigMap](api, configMaps, names.Namespace)
	read := func(ctx context.Context) (*corev1.ConfigMap, error) {
		if a.isCached {
			return world.Cached[corev1.ConfigMap](api, configMaps, names.Namespace, names.Name)
		}
		return client.Get(ctx, names.Name, metav1.GetOptions{})
	}
	return world.Process{Reconcile: func(ctx context.Context) (time.Duration, error) {
		o, err := read(ctx)
		if err != nil || o.Data[a.name] != "" {
			return 0, err
		}
		if !a.isPinned {
			o.ResourceVersion = ""
		}
		if o.Data == nil {
			o.Data = map[string]string{}
		}
		o.Data[a.name] = "added"
		_, err = client.Update(ctx, o, metav1.UpdateOptions{})
		return 0, err
	}}
}

// added says who has added a name.
type added struct{ a, b bool }

// adding is the model of such controllers. Its rule: a name that was added
// stays. Its facts are who has ever added one.
func adding(t *testing.T, replicas ...adder) world.Model[added] {
	t.Helper()
	m := world.Model[added]{
		Name: "names", Cached: []string{configMaps}, MaxStates: 100_000, MaxCalm: 100,
		Note: func(ever added, w world.Write) added {
			now := has(t, w.After)
			return added{ever.a || now.a, ever.b || now.b}
		},
		Check: func(s *world.Store, ever added) string {
			now := has(t, s.Object(names))
			if ever.a && !now.a || ever.b && !now.b {
				return "a name is lost"
			}
			return ""
		},
		Right: func(s *world.Store, _ added) string {
			if !has(t, s.Object(names)).a {
				return "a has not added its name"
			}
			return ""
		},
	}
	for _, r := range replicas {
		m.Replicas = append(m.Replicas, r.begin)
	}
	m.Store.Now = world.Began()
	answer, _ := m.Store.Do(world.Request{Verb: "create", Key: names, Body: []byte(`{}`)})
	require.NoError(t, answer.Err)
	return m
}

func has(t *testing.T, o *world.Object) added {
	t.Helper()
	decoded, err := world.As[corev1.ConfigMap](o)
	require.NoError(t, err)
	return added{decoded.Data["a"] != "", decoded.Data["b"] != ""}
}

func TestSearch_ShowsThatPinnedWritesLoseNothing(t *testing.T) {
	for _, isCached := range []bool{false, true} {
		m := adding(t, adder{"a", true, isCached}, adder{"b", true, isCached})
		m.Budgets = world.Budgets{Crashes: 1, Faults: 1, Late: 1, Switches: 1, Stale: 1}
		report, err := m.Search(t)
		require.NoError(t, err)
		assert.True(t, report.IsComplete)
		assert.Contains(t, report.String(), "names: budgets 1 crashes, 1 stale starts, 1 faults, 1 late writes, 1 switches:")
	}
}

func TestSearch_FindsALostUpdate(t *testing.T) {
	m := adding(t, adder{"a", false, false}, adder{"b", true, false})
	_, err := m.Search(t)
	require.NoError(t, err, "without a switch in a call nothing is lost")

	m.Budgets = world.Budgets{Switches: 1}
	_, err = m.Search(t)
	require.ErrorContains(t, err, "a name is lost")
	require.ErrorContains(t, err, "  replica 1: a call begins\n")
	assert.ErrorContains(t, err, "  replica 1: get configmaps default/names\n")
}

func TestSearch_FindsWhatAnOldCacheCauses(t *testing.T) {
	m := adding(t, adder{"a", false, true}, adder{"b", true, false})
	_, err := m.Search(t)
	assert.ErrorContains(t, err, "a name is lost")
}

func TestSearch_FindsAProcessThatStopsTrying(t *testing.T) {
	m := adding(t, adder{"a", true, false})
	begin := m.Replicas[0]
	m.Replicas[0] = func(api *world.API) world.Process {
		p := begin(api)
		return world.Process{Reconcile: func(ctx context.Context) (time.Duration, error) {
			_, _ = p.Reconcile(ctx) // it forgets the error
			return 0, nil
		}}
	}
	m.Budgets = world.Budgets{Faults: 1}
	_, err := m.Search(t)
	assert.ErrorContains(t, err, "a has not added its name, when nothing else can happen")
}

func TestSearch_FindsWhatAMemoryLoses(t *testing.T) {
	m := adding(t, adder{"a", true, false})
	begin := m.Replicas[0]
	m.Replicas[0] = func(api *world.API) world.Process {
		p := begin(api)
		tried := false
		return world.Process{
			Reconcile: func(ctx context.Context) (time.Duration, error) {
				if tried {
					return 0, nil
				}
				tried = true
				return p.Reconcile(ctx)
			},
			Memory: func() string { return strconv.FormatBool(tried) },
		}
	}
	m.Budgets = world.Budgets{Faults: 1}
	_, err := m.Search(t)
	assert.ErrorContains(t, err, "a has not added its name")
}

func TestSearch_ReportsCodeThatIsNotDeterministic(t *testing.T) {
	m := adding(t, adder{"a", true, false})
	m.Replicas[0] = func(api *world.API) world.Process {
		return world.Process{Reconcile: func(ctx context.Context) (time.Duration, error) {
			for range 5 {
				_, err := api.Do(ctx, world.Request{Verb: "get", Key: world.Key{
					Resource: configMaps, Namespace: "default", Name: strconv.Itoa(rand.Int()),
				}})
				if !apierrors.IsNotFound(err) {
					return 0, err
				}
			}
			return 0, nil
		}}
	}
	_, err := m.Search(t)
	assert.ErrorContains(t, err, "the same answers led to two requests")
}

func TestSearch_EndsTheContextOfAFrozenProcess(t *testing.T) {
	var ended error
	m := adding(t, adder{"a", true, false})
	begin := m.Replicas[0]
	m.Replicas[0] = func(api *world.API) world.Process {
		p := begin(api)
		return world.Process{Reconcile: func(ctx context.Context) (time.Duration, error) {
			limited, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			_, err := p.Reconcile(limited)
			if errors.Is(err, context.DeadlineExceeded) {
				ended = err
			}
			return 0, err
		}}
	}
	m.Budgets = world.Budgets{Waits: 1}
	_, err := m.Search(t)
	require.NoError(t, err)
	assert.ErrorIs(t, ended, context.DeadlineExceeded)
}

func TestSearch_FailsIfItStopsForItsCap(t *testing.T) {
	m := adding(t, adder{"a", true, false})
	m.MaxStates = 2
	report, err := m.Search(t)
	require.ErrorIs(t, err, world.ErrTooMany)
	assert.False(t, report.IsComplete)
	assert.Contains(t, report.String(), "INCOMPLETE")
}
