// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/jobgc/hold"
)

func runUID(name string) types.UID { return types.UID("run-" + name) }

func TestReleaseOrphan(t *testing.T) {
	cases := map[string]struct {
		reason     string
		meanwhile  func(*cluster) // after the Job was read
		refused    bool
		finalizers []string
		patches    int
	}{
		"Usual": {"Only the finalizer is removed.", func(*cluster) {}, false, []string{"example.com/theirs"}, 1},
		"Gone":  {"A deleted Job needs no release.", func(c *cluster) { c.jobs = nil }, false, nil, 1},
		"Owned": {"A cache may not have the owner yet.", func(c *cluster) { c.owner("run") }, false, []string{"example.com/theirs", finalizer}, 0},
		"Recreated": {"A successor of the owner does not own the Job.", func(c *cluster) {
			c.owner("run")
			c.owners[0].UID = "successor"
		}, false, []string{"example.com/theirs"}, 1},
		"Going": {"An owner that is deleted in the foreground waits for its Job.", func(c *cluster) {
			c.owner("run")
			deleting(&c.owners[0])
		}, false, []string{"example.com/theirs"}, 1},
		"Replaced": {"A successor is not changed.", func(c *cluster) { c.jobs[0].UID = "successor" }, true, []string{"example.com/theirs", finalizer}, 1},
		"Moved": {
			"Another finalizer has that index now.", func(c *cluster) { c.jobs[0].Finalizers = []string{finalizer, "example.com/theirs"} },
			true,
			[]string{finalizer, "example.com/theirs"},
			1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &cluster{}
			c.job("a", "run", func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"example.com/theirs", finalizer} })
			read := c.jobs[0].DeepCopy()
			tc.meanwhile(c)
			err := newSweeper(t, c, hold.Options{}).ReleaseOrphan(t.Context(), read)
			if tc.refused {
				require.True(t, apierrors.IsInvalid(err), tc.reason)
				require.ErrorContains(t, err, "jobgc/hold: removeFinalizer: ns/a: ")
			} else {
				require.NoError(t, err, tc.reason)
			}
			assert.Equal(t, tc.patches, c.patches)
			if len(c.jobs) > 0 {
				assert.Equal(t, tc.finalizers, c.jobs[0].Finalizers, tc.reason)
			}
		})
	}
}

func TestReleaseOrphan_OfWhatIsNotHeld(t *testing.T) {
	c := &cluster{}
	s := newSweeper(t, c, hold.Options{})
	c.job("a", "run", func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"example.com/theirs"} })
	require.NoError(t, s.ReleaseOrphan(t.Context(), &c.jobs[0]))
	assert.Zero(t, c.patches+c.lists, "no request")
	for _, none := range []metav1.Object{nil, (*metav1.PartialObjectMetadata)(nil)} {
		require.EqualError(t, s.ReleaseOrphan(t.Context(), none), "jobgc/hold: releaseOrphan: job is nil; pass the Job that was read")
	}
}

func TestReleaseOrphan_KeepsTheJobIfOwnersCannotBeListed(t *testing.T) {
	c := &cluster{fail: errDown}
	c.job("a", "run")
	require.ErrorIs(t, newSweeper(t, c, hold.Options{}).ReleaseOrphan(t.Context(), &c.jobs[0]), errDown)
	assert.Equal(t, []string{"a"}, c.stillHeld())
}

// A finalizer that was not removed must not count as released.
func TestSweepIsNotFooledBy404AboutAJob(t *testing.T) {
	c := &cluster{refuse: func(string) error { return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns") }}
	c.job("a", "gone")
	report, err := newSweeper(t, c, hold.Options{}).Sweep(t.Context())
	require.ErrorContains(t, err, `jobgc/hold: removeFinalizer: ns/a: a 404 about namespaces "ns", want jobs.batch "a"`)
	assert.Equal(t, 1, report.Held)
	assert.Zero(t, report.Released)
}
