// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc/hold"
)

const finalizer = "agents.example.com/result"

var (
	start   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	jobs    = schema.GroupResource{Group: "batch", Resource: "jobs"}
	errDown = errors.New("the API server does not answer")
)

// cluster answers as the real API server does. Pages hold two objects.
type cluster struct {
	mu sync.Mutex

	jobs, owners   []metav1.PartialObjectMetadata
	lists, patches int
	expire         int                     // so many lists fail on their second page
	listed         func()                  // runs after each list of Jobs
	refuse         func(name string) error // of patches
	fail           error                   // of lists of owners
}

type client struct {
	c         *cluster
	of        *[]metav1.PartialObjectMetadata
	namespace string
}

func (c *cluster) jobsIn(namespace string) client   { return client{c, &c.jobs, namespace} }
func (c *cluster) ownersIn(namespace string) client { return client{c, &c.owners, namespace} }

func (c client) List(_ context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	c.c.lists++
	if c.of == &c.c.owners && c.c.fail != nil {
		return nil, c.c.fail
	}
	from, _ := strconv.Atoi(opts.Continue)
	if from > 0 && c.c.expire > 0 {
		c.c.expire--
		return nil, apierrors.NewResourceExpired("the provided continue parameter is too old")
	}
	out := &metav1.PartialObjectMetadataList{}
	for i, o := range *c.of {
		if i < from || !c.selects(o, opts) {
			continue
		}
		if opts.Limit > 0 && i >= from+2 {
			out.Continue = strconv.Itoa(i)
			break
		}
		out.Items = append(out.Items, *o.DeepCopy())
	}
	if c.c.listed != nil && c.of == &c.c.jobs {
		c.c.listed()
	}
	return out, nil
}

func (c client) selects(o metav1.PartialObjectMetadata, opts metav1.ListOptions) bool {
	inNamespace := c.namespace == "" || o.Namespace == c.namespace
	labelled := opts.LabelSelector == "" || o.Labels["selected"] != ""
	named := opts.FieldSelector == "" || opts.FieldSelector == "metadata.name="+o.Name
	return inNamespace && labelled && named
}

func (c client) Patch(
	_ context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*metav1.PartialObjectMetadata, error) {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	c.c.patches++
	if c.c.refuse != nil {
		if err := c.c.refuse(name); err != nil {
			return nil, err
		}
	}
	i := slices.IndexFunc(c.c.jobs, func(o metav1.PartialObjectMetadata) bool { return o.Namespace == c.namespace && o.Name == name })
	if i < 0 {
		return nil, apierrors.NewNotFound(jobs, name)
	}
	var ops []struct{ Op, Path, Value string }
	if err := json.Unmarshal(data, &ops); err != nil || pt != types.JSONPatchType {
		return nil, apierrors.NewBadRequest("not a JSON patch")
	}
	job := c.c.jobs[i].DeepCopy()
	for _, op := range ops {
		at, err := strconv.Atoi(strings.TrimPrefix(op.Path, "/metadata/finalizers/"))
		switch {
		case op.Op == "test" && op.Path == "/metadata/uid" && op.Value == string(job.UID):
		case err != nil || at >= len(job.Finalizers) || op.Op == "test" && op.Value != job.Finalizers[at]:
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", jobs, name, "the patch does not apply", 0, false)
		case op.Op == "remove":
			job.Finalizers = slices.Delete(job.Finalizers, at, at+1)
		}
	}
	c.c.jobs[i] = *job
	return job, nil
}

// job is held, an hour younger than the one before, and controlled by the owner
// of that uid; by none if it is empty.
func (c *cluster) job(name string, owner types.UID, edit ...func(*metav1.PartialObjectMetadata)) {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Finalizers: []string{finalizer},
		CreationTimestamp: metav1.NewTime(start.Add(time.Duration(len(c.jobs)) * time.Hour)),
	}}
	if owner != "" {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "agents.example.com/v1", Kind: "AgentRun", Name: string(owner), UID: owner, Controller: ptr.To(true)}}
	}
	for _, e := range edit {
		e(&o)
	}
	c.jobs = append(c.jobs, o)
}

func (c *cluster) owner(uids ...types.UID) {
	for _, uid := range uids {
		c.owners = append(c.owners, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: string(uid), UID: uid}})
	}
}

// stillHeld are the names of the Jobs that carry the finalizer.
func (c *cluster) stillHeld() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		if slices.Contains(j.Finalizers, finalizer) {
			names = append(names, j.Name)
		}
	}
	return names
}

func deleting(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = ptr.To(metav1.NewTime(start)) }

func newSweeper(t *testing.T, c *cluster, opts hold.Options) *hold.Sweeper {
	t.Helper()
	s, err := hold.New(c.jobsIn, c.ownersIn, finalizer, opts)
	require.NoError(t, err)
	return s
}

// meanwhile changes the cluster while a Sweeper runs.
func (c *cluster) meanwhile(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func many(c *cluster, n int, owner types.UID) {
	for i := range n {
		c.job(fmt.Sprintf("job-%d", i), owner)
	}
}
