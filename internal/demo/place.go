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

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/rbac"
	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
)

// place is where the demo plays: a cluster, and the controllers on it.
type place struct {
	local      *controlplane.ControlPlane // nil on a cluster that --context names
	dir        string
	kubectl    rig.Kubectl // with all rights
	kubeconfig string      // of the example's controller
	config     *rest.Config
	created    []*controller // with their namespaces

	usual, example *controller // both are killed
	samples        *controller // the example too, which plays the samples
	jobs           play.Jobs   // of the samples
}

// controller is a program that runs, and the namespace in which it works.
type controller struct {
	*play.Stage

	name                string // in the table
	program, kubeconfig string
	args, env           []string
	dir                 string       // of its log
	process             *rig.Process // that start has started last
}

// open makes the place ready. On an error nothing is left running.
func open(ctx context.Context, out io.Writer, contextName string) (p *place, err error) {
	p = new(place)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(context.WithoutCancel(ctx)))
			p = nil
		}
	}()
	if contextName == "" {
		err = p.startLocal(ctx, out)
	} else {
		err = p.findNamed(ctx, out, contextName)
	}
	if err != nil {
		return p, err
	}
	p.config, err = clientcmd.BuildConfigFromFlags("", p.kubectl.Kubeconfig)
	if err != nil {
		return p, err
	}
	p.config.QPS = -1 // no limit: the players ask often
	return p, p.startControllers(ctx, out)
}

// startLocal starts a local control plane. The example's controller gets a user
// with only the rights of its role.
func (p *place) startLocal(ctx context.Context, out io.Writer) (err error) {
	kubectl, _ := exec.LookPath("kubectl") // without one, Start builds it
	p.local, err = controlplane.Start(ctx, controlplane.Options{Log: out, Kubectl: kubectl})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "API server, etcd and controllers are real; "+
		"pods are simulated: they end as their annotations say, and no image is run")
	p.dir = p.local.Dir()
	p.kubectl, p.kubeconfig, err = rig.Local(ctx, p.local)
	return err
}

// findNamed finds a cluster by the name of its context in the files that
// kubectl reads. It writes a kubeconfig file with that context alone. The
// controllers run as the same person.
func (p *place) findNamed(ctx context.Context, out io.Writer, name string) (err error) {
	if p.dir, err = os.MkdirTemp("", "controllerkit-demo-"); err != nil {
		return err
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := rules.Load()
	if err != nil {
		return err
	}
	if config.Contexts[name] == nil {
		return fmt.Errorf("context %q is in none of %v", name, rules.Precedence)
	}
	config.CurrentContext = name
	if err := clientcmdapi.MinifyConfig(config); err != nil {
		return err
	}
	p.kubeconfig = filepath.Join(p.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		return err
	}
	cache := filepath.Join(p.dir, "kubectl-cache")
	p.kubectl = rig.Kubectl{Path: kubectl, Kubeconfig: p.kubeconfig, Cache: cache}
	cluster := config.Clusters[config.Contexts[name].Cluster]
	fmt.Fprintf(out, "using the cluster of context %s at %s\n", name, cluster.Server)
	return p.kubectl.Install(ctx)
}

// startControllers builds the programs and starts the controllers, each in its
// own namespace.
func (p *place) startControllers(ctx context.Context, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	agentrun := filepath.Join(filepath.Dir(self), "demo-agentrun") // go build keeps one that is up to date
	baseline := filepath.Join(filepath.Dir(self), "demo-baseline")
	err = errors.Join(rig.Build(ctx, rig.AgentRun, agentrun), rig.Build(ctx, rig.Baseline, baseline))
	if err != nil {
		return err
	}
	p.samples = &controller{name: "controllerkit", program: agentrun, args: []string{"--no-pods-after=5s"}}
	p.example = &controller{name: "controllerkit", program: agentrun}
	p.usual = &controller{name: "usual", program: baseline}
	err = errors.Join(
		p.create(ctx, p.samples, "controllerkit-samples"),
		p.create(ctx, p.example, "controllerkit-demo"),
		p.create(ctx, p.usual, "controllerkit-demo-usual"))
	if err != nil {
		return err
	}
	err = errors.Join(p.samples.Restrict(ctx), p.allowUsual(ctx))
	if err != nil {
		return err
	}
	err = errors.Join(p.samples.start(ctx), p.example.start(ctx), p.usual.start(ctx))
	if err != nil {
		return err
	}
	as := "with only the rights that they need"
	if p.local == nil {
		as = "as you"
	}
	fmt.Fprintf(out, "the controllers run %s; their logs are in %s\n", as, p.dir)
	return nil
}

// create creates the namespace of a controller.
func (p *place) create(ctx context.Context, c *controller, namespace string) (err error) {
	c.kubeconfig = p.kubeconfig
	if p.local == nil {
		c.env = os.Environ() // the kubeconfig may name a program that needs it
	}
	c.args = append(c.args, "--namespaces="+namespace)
	c.dir = filepath.Join(p.dir, namespace)
	err = os.Mkdir(c.dir, 0o700)
	if err != nil {
		return err
	}
	c.Stage, err = play.NewStage(p.config, namespace)
	if err != nil {
		return err
	}
	err = c.CreateNamespace(ctx)
	if err != nil {
		return err
	}
	p.created = append(p.created, c)
	return nil
}

// start starts the controller, and again after its process was killed.
func (c *controller) start(ctx context.Context) (err error) {
	c.process, err = rig.Start(ctx, c.program, c.dir, c.kubeconfig, c.env, c.args...)
	return err
}

// allowUsual makes the usual controller, on a local control plane, a user with
// only the rights that it needs.
func (p *place) allowUsual(ctx context.Context) error {
	if p.local == nil {
		return nil
	}
	const (
		user   = "usual-controller"
		agents = "agents.controllerkit.dev"
	)
	err := rbac.Grant(ctx, p.usual.Kube, p.usual.Namespace, user, user,
		allow(agents, "agentruns", "list", "watch", "delete"),
		allow(agents, "agentruns/status", "update"),
		allow("batch", "jobs", "list", "watch", "create", "patch", "delete"),
		allow("", "secrets", "get"),
		allow("events.k8s.io", "events", "create", "patch"))
	if err != nil {
		return err
	}
	config, err := p.local.User(user)
	if err != nil {
		return err
	}
	p.usual.kubeconfig = filepath.Join(p.dir, user+".kubeconfig")
	return controlplane.WriteKubeconfig(p.usual.kubeconfig, config)
}

func allow(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// close stops the controllers, then what they worked on.
func (p *place) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var errs []error
	for _, c := range p.created {
		if c.process != nil {
			errs = append(errs, c.process.Stop())
		}
	}
	if p.local != nil {
		return errors.Join(append(errs, p.local.Stop())...)
	}
	for _, c := range p.created {
		errs = append(errs, c.Kube.CoreV1().Namespaces().Delete(ctx, c.Namespace, metav1.DeleteOptions{}))
	}
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// next says how to look around.
func (p *place) next(out io.Writer, keep bool) {
	if !keep {
		fmt.Fprint(out, `
Where to look next:
  internal/demo/baseline/usual.go          the usual controller, on controller-runtime alone
  examples/agentrun/controller             the same with controllerkit
  examples/controller-runtime/first        two packages in the controller that you have
  make demo KEEP=1                         this again, and it stays up to look around with kubectl
`)
		return
	}
	fmt.Fprintf(out, `
Everything stays up until Ctrl-C here. In another terminal:
  export KUBECONFIG=%s KUBECACHEDIR=%s
  alias kubectl=%s
  kubectl get aruns --namespace=%s
  kubectl config set-context --current --namespace=%s
  kubectl get aruns
  kubectl describe arun missing-secret
  kubectl events --for agentrun/job-deleted
  curl -s %s/metrics | grep ^controller_ | grep -v _bucket
`, p.kubectl.Kubeconfig, p.kubectl.Cache, p.kubectl.Path, p.usual.Namespace,
		p.samples.Namespace, p.samples.process.URL)
}
