// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

const namespace = "controllerkit-demo"

// place is where the demo plays: a cluster, the controller on it, and a
// namespace.
type place struct {
	local      *controlplane.ControlPlane // nil on a cluster that --context names
	dir        string
	kubectl    rig.Kubectl
	stage      *play.Stage
	start      func(context.Context) (*rig.Process, error)
	controller *rig.Process
	jobs       play.Jobs
	inFlight   int                // runs that had not ended when the controller was killed
	down       time.Duration      // until the next process was ready
	counted    map[string]float64 // by the title of a counter
}

// open makes the place ready. On an error nothing is left running.
func open(ctx context.Context, out io.Writer, contextName string) (p *place, err error) {
	p = &place{counted: map[string]float64{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(context.WithoutCancel(ctx)))
			p = nil
		}
	}()
	find := p.startLocal
	if contextName != "" {
		find = p.findNamed
	}
	kubeconfig, err := find(ctx, out, contextName)
	if err != nil {
		return p, err
	}
	fmt.Fprintln(out, "installed the CRD agentruns.agents.controllerkit.dev and the controller's role")
	config, err := clientcmd.BuildConfigFromFlags("", p.kubectl.Kubeconfig)
	if err != nil {
		return p, err
	}
	config.QPS = -1 // no limit: the players ask often
	if p.stage, err = play.NewStage(config, namespace); err != nil {
		return p, err
	}
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err = p.stage.Kube.CoreV1().Namespaces().Create(ctx, created, metav1.CreateOptions{})
	if err != nil {
		p.stage = nil // the namespace is not the demo's to delete
		return p, err
	}
	err = p.stage.Restrict(ctx)
	if err != nil {
		return p, err
	}
	program := filepath.Join(p.dir, "agentrun")
	err = rig.Build(ctx, rig.AgentRun, program)
	if err != nil {
		return p, err
	}
	p.start = func(ctx context.Context) (*rig.Process, error) {
		var env []string
		if p.local == nil {
			env = os.Environ() // the kubeconfig may name a program that needs it
		}
		return rig.Start(ctx, program, p.dir, kubeconfig, env, "--namespaces="+namespace)
	}
	if p.controller, err = p.start(ctx); err != nil {
		return p, err
	}
	p.stage.Kill = p.kill
	as := "under that role"
	if p.local == nil {
		as = "as you"
	}
	fmt.Fprintf(out, "the controller runs %s; its log is %s\n", as, p.controller.Log)
	return p, nil
}

// startLocal starts a local control plane. It returns the kubeconfig file of a
// user with only the rights of the controller's role.
func (p *place) startLocal(ctx context.Context, out io.Writer, _ string) (kubeconfig string, err error) {
	kubectl, _ := exec.LookPath("kubectl") // without one, Start builds it
	p.local, err = controlplane.Start(ctx, controlplane.Options{Log: out, Kubectl: kubectl})
	if err != nil {
		return "", err
	}
	fmt.Fprintln(out, "API server, etcd and controllers are real; "+
		"pods are simulated: they end as their annotations say, and no image is run")
	p.dir = p.local.Dir()
	p.kubectl, kubeconfig, err = rig.Local(ctx, p.local)
	return kubeconfig, err
}

// findNamed finds a cluster by the name of its context in the files that
// kubectl reads. It returns a kubeconfig file with that context alone. The
// controller runs as the same person.
func (p *place) findNamed(ctx context.Context, out io.Writer, name string) (kubeconfig string, err error) {
	if p.dir, err = os.MkdirTemp("", "controllerkit-demo-"); err != nil {
		return "", err
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return "", err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := rules.Load()
	if err != nil {
		return "", err
	}
	if config.Contexts[name] == nil {
		return "", fmt.Errorf("context %q is in none of %v", name, rules.Precedence)
	}
	config.CurrentContext = name
	if err := clientcmdapi.MinifyConfig(config); err != nil {
		return "", err
	}
	kubeconfig = filepath.Join(p.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return "", err
	}
	cache := filepath.Join(p.dir, "kubectl-cache")
	p.kubectl = rig.Kubectl{Path: kubectl, Kubeconfig: kubeconfig, Cache: cache}
	cluster := config.Clusters[config.Contexts[name].Cluster]
	fmt.Fprintf(out, "using the cluster of context %s at %s\n", name, cluster.Server)
	return kubeconfig, p.kubectl.Install(ctx)
}

// close stops the controller, then what it worked on.
func (p *place) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var errs []error
	if p.controller != nil {
		errs = append(errs, p.controller.Stop())
	}
	if p.local != nil {
		return errors.Join(append(errs, p.local.Stop())...)
	}
	if p.stage != nil {
		errs = append(errs, p.stage.Kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
	}
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// next says how to look around.
func (p *place) next(out io.Writer, keep bool) {
	if !keep {
		fmt.Fprint(out, `
Where to look next:
  make demo KEEP=1               the same, and it stays up to look around with kubectl
  examples/agentrun/samples      the runs that it played
  examples/agentrun/controller   the controller, composed of the packages
`)
		return
	}
	fmt.Fprintf(out, `
Everything stays up until Ctrl-C here. In another terminal:
  export KUBECONFIG=%s KUBECACHEDIR=%s
  alias kubectl=%s
  kubectl config set-context --current --namespace=%s
  kubectl get aruns
  kubectl describe arun missing-secret
  kubectl events --for agentrun/job-deleted
  curl -s %s/metrics | grep ^controller_ | grep -v _bucket
`, p.kubectl.Kubeconfig, p.kubectl.Cache, p.kubectl.Path, namespace, p.controller.URL)
}
