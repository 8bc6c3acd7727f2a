// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Owners lists the metadata of the Jobs' owners in one namespace, or in all. A
// metadata.ResourceInterface of client-go satisfies it. Reads must be live: a
// cache that lags behind lacks new owners.
type Owners interface {
	List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error)
}

// Jobs lists and patches the metadata of Jobs. A metadata.ResourceInterface of
// client-go satisfies it.
type Jobs interface {
	Owners
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte,
		opts metav1.PatchOptions, subresources ...string,
	) (*metav1.PartialObjectMetadata, error)
}

// jobsIn returns the Job client of a namespace.
func (s *Sweeper) jobsIn(namespace string) (Jobs, error) { //nolint:ireturn // the caller's type
	jobs := s.jobs(namespace)
	if isnil.Is(jobs) {
		return nil, fmt.Errorf("the client of namespace %q is nil; return a client that can list and patch "+
			"Jobs", namespace)
	}
	return jobs, nil
}

// ownersIn returns the owners' client of a namespace.
func (s *Sweeper) ownersIn(namespace string) (Owners, error) { //nolint:ireturn // see above
	owners := s.owners(namespace)
	if isnil.Is(owners) {
		return nil, fmt.Errorf("the client of namespace %q is nil; return a client that can list the owners",
			namespace)
	}
	return owners, nil
}
