// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/internal/demo/baseline"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// stand is the control plane for the controllers, one after the other.
type stand struct {
	dir    string
	plane  *controlplane.ControlPlane
	kinds  []kind // the library first
	cached kind   // the careful controller that trusts its cache
	worlds int
}

// kindsOf returns the controllers of a load.
func (s *stand) kindsOf(l load) []kind {
	if !l.all {
		return s.kinds
	}
	return append(slices.Clone(s.kinds), s.cached)
}

const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: None
    users: [controlplane-admin, "system:kube-controller-manager", "system:apiserver"]
  - level: Metadata
`

// start starts the control plane and builds the programs.
func (s *stand) start(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "bench-controller-"); err != nil {
		return err
	}
	s.plane, err = controlplane.Start(ctx, controlplane.Options{Log: os.Stderr, AuditPolicy: auditPolicy})
	if err != nil {
		return err
	}
	if _, _, err = rig.Local(ctx, s.plane); err != nil {
		return err
	}
	example := filepath.Join(s.dir, "agentrun")
	err = rig.Build(ctx, rig.AgentRun, example)
	if err != nil {
		return err
	}
	peer := filepath.Join(s.dir, "baseline")
	err = rig.Build(ctx, rig.Baseline, peer)
	if err != nil {
		return err
	}
	byHand := func(name string, k baseline.Kind) kind {
		return kind{name, []string{peer, "--kind=" + string(k)}}
	}
	s.kinds = []kind{
		{"", []string{example}}, byHand(careful, baseline.Careful), byHand(usual, baseline.Usual),
	}
	s.cached = byHand(cached, baseline.CarefulByCache)
	// Otherwise the first load would meet an API server that has never served
	// these kinds.
	for _, k := range s.kinds {
		if _, err := s.account(ctx, k, load{runs: 50}); err != nil {
			return err
		}
	}
	return nil
}

// down stops everything.
func (s *stand) down() (err error) {
	if s.plane != nil {
		err = s.plane.Stop()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// world is a namespace for one controller, which has a separate user.
type world struct {
	*play.Stage

	user, kubeconfig string
}

// newWorld creates a namespace, and a user with the rights of all controllers:
// the documented role, and the reads and updates of the baseline.
func (s *stand) newWorld(ctx context.Context) (*world, error) {
	s.worlds++
	name := fmt.Sprintf("world-%02d", s.worlds)
	stage, err := play.NewStage(s.plane.Config(), name)
	if err != nil {
		return nil, err
	}
	w := &world{Stage: stage, user: name, kubeconfig: filepath.Join(s.dir, name+".kubeconfig")}
	if err := w.CreateNamespace(ctx); err != nil {
		return nil, err
	}
	if err := rbac.Grant(ctx, w.Kube, name, name, name, []rbacv1.PolicyRule{
		{APIGroups: []string{"agents.controllerkit.dev"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			Verbs: []string{"get", "create", "update"},
		},
		{
			APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch", "update"},
		},
	}...); err != nil {
		return nil, err
	}
	config, err := s.plane.User(name)
	if err != nil {
		return nil, err
	}
	return w, controlplane.WriteKubeconfig(w.kubeconfig, config)
}

// requests returns the requests of a user since a time.
func (s *stand) requests(user string, since time.Time) ([]controlplane.Request, error) {
	all, err := s.plane.Requests()
	return slices.DeleteFunc(all, func(r controlplane.Request) bool {
		return r.User.Username != user || r.At.Time.Before(since)
	}), err
}
