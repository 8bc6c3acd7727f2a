// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rollout converts the Deployments in a stream of manifests to canaries
// of Argo Rollouts, or prints the plan that switches a live workload.
//
//	helm template web ./chart | go run ./examples/rollout -values values.yaml > web.yaml
//	get() { kubectl get "$@" -o yaml --show-managed-fields; echo ---; }
//	{ get deployment web; get hpa; } | go run ./examples/rollout -plan - deployment.yaml > plan.sh
//	{ get rollout web; get hpa; } | go run ./examples/rollout -rollback - deployment.yaml > plan.sh
//
// A plan needs the rendered manifest of the Deployment, because the live object
// has marks of the tools that apply it, and all HorizontalPodAutoscalers of the
// namespace, because the name of the right one is not known. Add scaledobject
// and vpa to the list where the cluster has these kinds.
//
// It reads the files, or standard input if no file or "-" is given. It converts
// each Deployment, or with -only those that it names. It points the
// HorizontalPodAutoscaler, ScaledObject and VerticalPodAutoscaler of such a
// Deployment at the Rollout. With -canary each Rollout gets more fields, such as
// trafficRouting, which are checked like all others. It passes every other
// document through byte for byte. It writes nothing if anything is wrong. Exit codes: 0; 1 if a manifest
// is refused, with every error of every manifest; 2 if the arguments are wrong.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// call is a command line that was understood.
type call struct {
	enabled  bool
	only     []string // names of Deployments, nil for all
	options  rollout.Options
	plan     plan.Options
	migrate  bool   // plan instead of render
	rollback bool   // plan the return to a Deployment
	values   string // file, "" for none
	files    []string
}

// result is the output of the command. With problems it writes nothing to
// standard output.
type result struct {
	out                string
	problems, warnings []string
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "rollout:", err)
		return 2
	}
	r := c.do(stdin)
	for _, w := range r.warnings {
		fmt.Fprintln(stderr, "warning:", w)
	}
	for _, p := range r.problems {
		fmt.Fprintln(stderr, p)
	}
	if len(r.problems) > 0 {
		return 1
	}
	if _, err := io.WriteString(stdout, r.out); err != nil {
		fmt.Fprintln(stderr, "rollout:", err)
		return 1
	}
	return 0
}

func (c *call) do(stdin io.Reader) result {
	problems := c.load()
	docs, more := read(c.files, stdin)
	if problems = append(problems, more...); len(problems) > 0 {
		return result{problems: problems}
	}
	if c.migrate || c.rollback {
		return plans(c, docs)
	}
	return render(c, docs)
}

func parse(args []string, stderr io.Writer) (*call, error) {
	c := &call{enabled: true}
	f := flag.NewFlagSet("rollout", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: rollout [flags] [file ...]   standard input without a file, or for -")
		f.PrintDefaults()
	}
	var steps, canary, surge, unavailable, only string
	f.StringVar(&c.values, "values", "",
		"chart values to take progressiveDelivery.{enabled,canarySteps} from")
	f.StringVar(&steps, "steps", "", `canary steps as YAML (default [{setWeight: 20}, {pause: {}}])`)
	f.StringVar(&canary, "canary", "", "more fields of the canary as YAML, such as trafficRouting")
	f.StringVar(&only, "only", "", "names of the Deployments to convert, separated by commas (default all)")
	f.StringVar(&surge, "max-surge", "", "pods more than replicas, a number or percentage (default 1)")
	f.StringVar(&unavailable, "max-unavailable", "",
		"pods less than replicas, a number or percentage (default 0)")
	f.BoolVar(&c.options.ProgressDeadlineAbort, "abort-on-deadline", false,
		"go back when the new version is not ready in time")
	f.StringVar(&c.options.InstanceID, "instance-id", "", "instance ID of the controller")
	f.BoolVar(&c.options.OmitReplicas, "omit-replicas", false,
		"leave replicas to a HorizontalPodAutoscaler")
	f.BoolVar(&c.migrate, "plan", false, "print the plan that replaces a live Deployment by its Rollout")
	f.BoolVar(&c.rollback, "rollback", false, "print the plan that replaces a live Rollout by its Deployment")
	f.BoolVar(&c.plan.AllowTemplateChange, "allow-template-change", false,
		"with -rollback, take a Deployment with another pod template")
	f.BoolVar(&c.plan.AllowTwoVersions, "allow-two-versions", false,
		"with -rollback, take a Rollout whose pods may run another version than its template has")
	f.StringVar(&c.plan.FieldManager, "field-manager", "",
		"of a plan, who applies the new workload (default the manager that applies the live one)")
	f.StringVar(&c.plan.Context, "context", "",
		"of a plan, the kubectl context of the cluster (default the current one)")
	err := f.Parse(args)
	if err != nil {
		return c, err
	}
	c.files = f.Args()
	c.options.MaxSurge = fence(surge)
	c.options.MaxUnavailable = fence(unavailable)
	if only != "" {
		c.only = strings.Split(only, ",")
	}
	if c.migrate && c.rollback {
		return c, errors.New("-plan and -rollback: one of both")
	}
	if c.values != "" && steps != "" {
		return c, errors.New("-values and -steps: one of both says the steps")
	}
	err = yaml.UnmarshalStrict([]byte(steps), &c.options.Steps)
	if err != nil {
		return c, fmt.Errorf("-steps: %w", err)
	}
	err = yaml.UnmarshalStrict([]byte(canary), new(rollout.Canary))
	if err != nil {
		return c, fmt.Errorf("-canary: %w", err)
	}
	c.options.Mutate = func(r *rollout.Rollout) {
		_ = yaml.Unmarshal([]byte(canary), r.Spec.Strategy.Canary) // it was parsed above
	}
	return c, nil
}

// converts reports whether a document is a Deployment that becomes a Rollout.
func (c *call) converts(d *document) bool {
	return c.enabled && d.kind == "Deployment" && (c.only == nil || slices.Contains(c.only, d.name))
}

// load reads the file that -values names: progressiveDelivery of chart values,
// not of a workload in them. Rollout.Convert checks the steps.
func (c *call) load() (problems []string) {
	if c.values == "" {
		return nil
	}
	var values struct {
		ProgressiveDelivery any `json:"progressiveDelivery"`
	}
	var delivery struct {
		Enabled      bool           `json:"enabled"`
		Provider     string         `json:"provider"`
		CanarySteps  []rollout.Step `json:"canarySteps"`
		CRDCheck     string         `json:"crdCheck"`     // for a chart alone
		KeepOnSwitch bool           `json:"keepOnSwitch"` // likewise
	}
	err := readYAML(c.values, &values)
	if err != nil {
		return []string{err.Error()}
	}
	text, err := yaml.Marshal(values.ProgressiveDelivery)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &delivery)
	}
	if err != nil {
		problems = append(problems, fmt.Sprintf("%s: progressiveDelivery: %v", c.values, err))
	}
	if delivery.Provider != "" && delivery.Provider != "argo-rollouts" {
		problems = append(problems, fmt.Sprintf(
			"%s: progressiveDelivery.provider: %q is not accepted; want argo-rollouts",
			c.values, delivery.Provider))
	}
	c.enabled = delivery.Enabled
	c.options.Steps = delivery.CanarySteps
	return problems
}

func readYAML(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func fence(s string) *intstr.IntOrString {
	if s == "" {
		return nil
	}
	return ptr.To(intstr.Parse(s))
}
