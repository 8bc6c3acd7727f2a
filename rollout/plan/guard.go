// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// line is one line of what kubectl prints of an object.
type line struct{ name, jsonpath, value string }

// state is an object as the plan knows it.
type state struct {
	kind, name string
	lines      []line
}

func (s *state) add(name, jsonpath, value string) {
	s.lines = append(s.lines, line{name, jsonpath, value})
}

// planned is what kubectl prints of the object if it has not changed.
func (s *state) planned() string {
	lines := make([]string, len(s.lines))
	for i, l := range s.lines {
		lines[i] = l.name + ": " + l.value
	}
	return strings.Join(lines, "\n")
}

// jsonpath makes kubectl print the lines.
func (s *state) jsonpath() string {
	lines := make([]string, len(s.lines))
	for i, l := range s.lines {
		lines[i] = l.name + ": " + l.jsonpath
	}
	return strings.Join(lines, `{"\n"}`)
}

const imagesPath = `{range .spec.template.spec.initContainers[*]}[{.name}={.image}]{end}{range .spec.template.spec.containers[*]}[{.name}={.image}]{end}`

// images prints the images of a template as imagesPath does.
func images(t *corev1.PodTemplateSpec) string {
	var b strings.Builder
	for _, list := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range list {
			b.WriteString("[" + list[i].Name + "=" + list[i].Image + "]")
		}
	}
	return b.String()
}

// pods are the lines that say which pods a workload has. kubectl prints the
// empty lists of a stored selector too.
func (s *state) pods(t *corev1.PodTemplateSpec, selector any) error {
	var tree any
	data, err := json.Marshal(selector)
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	if err == nil {
		data, err = json.Marshal(tree) // kubectl prints the keys of an object in their order
	}
	s.add("images", imagesPath, images(t))
	s.add("selector", "{.spec.selector}", string(data))
	return err
}

// guard stops a plan if the cluster has changed since it was made. Each plan
// begins with one, and has another before each step that takes pods away.
type guard struct {
	before  state  // the workload that the plan replaces
	since   *state // what of it must stay once after exists; nil for all of it
	after   state  // the workload that replaces it, as the plan creates it
	size    string // the jsonpath of the pods that after must have, no fewer than before wants; "" for any
	orphans string // a script that goes on to a stop if before left no pods for after; "" if before must not be gone
	target  string // a script that stops if the autoscaler does not scale after; "" before it was handed over
	twice   int32  // before keeps that many pods until a check finds the same of after; 0 if it does not
}

// check is the action. It passes in each state that the plan itself brings
// about, so that a plan that was interrupted goes on.
func (b *builder) check(g *guard, do string) {
	before, after := g.before.kind+" "+g.before.name, g.after.kind+" "+g.after.name
	const again = " Make a new plan from the live workload."
	var s strings.Builder
	fmt.Fprintf(&s, `(
stop() {
  printf 'STOP: %%s\nThe plan was made for:\n%%s\nThe cluster has:\n%%s\n' "$1" "$2" "${3:-nothing}" >&2
  exit 1
}
creates=%s
created=$(%s) || exit 1
planned=%s
found=$(%s) || exit 1
if [ -n "$created" ] && [ "$created" != "$creates" ]; then
`, quote(g.after.planned()), b.find(&g.after, g.after.jsonpath()), quote(g.before.planned()), b.find(&g.before, g.before.jsonpath()))
	if g.twice > 0 { // and after has no more
		fmt.Fprintf(&s, "  have=$(%s) || exit 1\n", b.find(&g.after, "{.spec.replicas}"))
		fmt.Fprintf(&s, "  [ \"$found\" != \"$planned\" ] || [ \"${have:-1}\" -gt %d ] || stop %s \"$creates\" \"$created\"\n", g.twice, quote(after+" is not what this plan creates. "+before+
			" has all its pods. If "+after+" is left from an earlier plan, delete it, and run this again: "+b.kubectl("delete "+g.after.resource())))
	}
	fmt.Fprintf(&s, "  stop %s \"$creates\" \"$created\"\nfi\n", quote(after+" is not what this plan creates."+again))
	if g.since != nil {
		fmt.Fprintf(&s, "if [ -n \"$created\" ]; then\n  planned=%s\n  found=$(%s) || exit 1\nfi\n", quote(g.since.planned()), b.find(g.since, g.since.jsonpath()))
	}
	fmt.Fprintf(&s, `if [ -n "$found" ] && [ "$found" != "$planned" ]; then
  stop %s "$planned" "$found"
fi
if [ -z "$found" ] && [ -z "$created" ]; then
  %s
fi
`, quote(before+" has changed since this plan was made."+again),
		g.orphans+"stop "+quote(before+" is gone, and "+after+" does not exist. Find out who removed it.")+" \"$planned\" ''")
	if g.size != "" {
		fmt.Fprintf(&s, `want=$(%s) || exit 1
have=$(%s) || exit 1
if [ -n "$found" ] && [ -n "$created" ] && [ "${have:-0}" -lt "${want:-1}" ]; then
  stop %s"${want:-1}" "replicas: ${want:-1}" "replicas: ${have:-0}"
fi
`, b.find(&g.before, "{.spec.replicas}"), b.find(&g.after, g.size), quote(after+" has fewer pods than "+before+
			" asks for. Wait until they are available or scale it up, and run this again: "+b.kubectl("scale "+g.after.resource()+" --replicas=")))
	}
	s.WriteString(g.target)
	b.do(do, s.String()+")", "")
}

const (
	checkFirst = "Stop if the cluster has changed since this plan was made, except by an earlier run of it"
	checkAgain = "Check again, because the next step takes pods away"
)

// orphaned is a script that goes on to the next command unless ReplicaSets
// without an owner have n pods or more, and the images. Empty images are any.
func (b *builder) orphaned(s *metav1.LabelSelector, n int32, images string) string {
	list := b.get("replicaset -l " + quote(metav1.FormatLabelSelector(s)) + " -o jsonpath=" +
		quote(`{range .items[?(@.spec.replicas>0)]}{.spec.replicas} {.metadata.ownerReferences[*].uid}| `+imagesPath+`{"\n"}{end}`))
	return fmt.Sprintf(`sets=$(%s) || exit 1
  printf '%%s\n' "$sets" |
    awk -v least=%d -v images=%s '$2 == "|" { n += $1; sub(/^[^|]*[|] /, ""); if (images != "" && $0 != images) other = 1 }
      END { exit !(n >= least && !other) }' || `, list, n, quote(images))
}

// get reads from the server. A server that does not answer stops the plan: it
// does not mean that an object is not there.
func (b *builder) get(args string) string { return b.kubectl("get --request-timeout=30s " + args) }

// find prints an object by a jsonpath, or nothing if there is no such object.
func (b *builder) find(s *state, jsonpath string) string {
	return b.get(s.resource() + " --ignore-not-found -o jsonpath=" + quote(jsonpath))
}

func (s *state) resource() string { return strings.ToLower(s.kind) + " " + s.name }

// unlessThere runs a command if the object does not exist yet. What exists
// has passed the guard. To apply it again would be a conflict with an
// autoscaler that has scaled it.
func (b *builder) unlessThere(s *state, command string) string { return b.test(s, "-n", command) }

// whileThere runs a command if the object still exists.
func (b *builder) whileThere(s *state, command string) string { return b.test(s, "-z", command) }

func (b *builder) test(s *state, operator, command string) string {
	return "(\nthere=$(" + b.get(s.resource()+" --ignore-not-found -o name") + ") || exit 1\n[ " + operator + " \"$there\" ] || " + command + "\n)"
}
