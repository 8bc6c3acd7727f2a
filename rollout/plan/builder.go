// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// builder collects the actions of a plan, its warnings and its errors.
type builder struct {
	Options
	namespace string
	plan      Plan
	errs      field.ErrorList
}

func newBuilder(namespace string, o Options) *builder {
	b := &builder{Options: o, namespace: namespace}
	switch o.Method {
	case "":
		b.Method = SideBySide
	case SideBySide, Adopt, Reference:
	default:
		b.add(field.NotSupported(field.NewPath("method"), o.Method, []Method{SideBySide, Adopt, Reference}))
	}
	return b
}

func (b *builder) add(errs ...*field.Error) { b.errs = append(b.errs, errs...) }

func (b *builder) warn(text string) { b.plan.Warnings = append(b.plan.Warnings, text) }

// header says what the plan is of.
func (b *builder) header(live metav1.Object, kind, to string) {
	cluster := "the current context of kubectl"
	if b.Context != "" {
		cluster = "the kubectl context " + b.Context
	}
	of := live.GetName()
	if b.namespace != "" {
		of = b.namespace + "/" + of
	}
	lines := []string{
		fmt.Sprintf("Workload: %s %s, uid %s, generation %d", kind, of, live.GetUID(), live.GetGeneration()),
		"Cluster: " + cluster,
	}
	if !b.Time.IsZero() {
		lines = append(lines, "Read at: "+b.Time.UTC().Format(time.RFC3339))
	}
	lines = append(lines, fmt.Sprintf("What it does: replaces %s %s by %s, method %s", kind, live.GetName(), to, b.Method),
		"After a stop: fix the reason, and run it again. Run it with sh or bash, or paste it into one of them.")
	b.plan.Header = strings.Join(lines, "\n")
}

// wayBack says how to undo the plan. Up to the step with this number the old
// workload has all its pods, and a command undoes the plan. Without one the
// plan goes on to its end first.
func (b *builder) wayBack(plan string, step int, undo string, scaler *autoscalingv2.HorizontalPodAutoscaler) {
	if undo != "" {
		if scaler != nil {
			b.plan.Header += "\nBefore you go back: if " + scaler.Name + " has scaled the new workload, scale the old one as far and wait for its pods."
		}
		b.plan.Header += fmt.Sprintf("\nTo go back, up to step %d: %s", step, undo)
	}
	b.plan.Header += "\nTo go back, after the last step: make a plan by " + plan + " from the live workload, and run it."
}

func (b *builder) do(what, command, until string) {
	b.plan.Actions = append(b.plan.Actions, Action{Do: what, Command: command, Until: until})
}

func (b *builder) kubectl(args string) string {
	command := "kubectl "
	if b.Context != "" {
		command += "--context=" + quote(b.Context) + " "
	}
	if b.namespace != "" {
		command += "-n " + b.namespace + " "
	}
	return command + args
}

// apply is a server-side apply under the caller's field manager.
func (b *builder) apply(args string) string {
	if b.FieldManager != "" {
		args = "--field-manager=" + quote(b.FieldManager) + " " + args
	}
	return b.kubectl("apply --server-side --validate=strict " + args)
}

// names keeps everything but names out of shell commands. A uid is a name too.
func (b *builder) names(uid types.UID, names ...string) {
	for _, msg := range validation.IsDNS1123Subdomain(string(uid)) {
		if uid != "" { // a manifest has none
			b.add(field.Invalid(field.NewPath("metadata", "uid"), uid, msg))
		}
	}
	for _, name := range names {
		for _, msg := range validation.IsDNS1123Subdomain(name) {
			b.add(field.Invalid(field.NewPath("metadata", "name"), name, msg))
		}
	}
	if b.namespace != "" {
		for _, msg := range validation.IsDNS1123Label(b.namespace) {
			b.add(field.Invalid(field.NewPath("metadata", "namespace"), b.namespace, msg))
		}
	}
}

// write puts an object into a file of the current directory. Lines of JSON
// cannot end the here-document. An exclamation mark is written as JSON's escape
// of it: a shell into which the script is pasted could expand it.
func (b *builder) write(what, file string, obj runtime.Object) {
	body, err := manifest(obj)
	if err != nil {
		b.add(field.InternalError(field.NewPath("spec"), err))
		return
	}
	b.do("Write "+what+" that is applied below", "cat >"+file+" <<'EOF'\n"+strings.ReplaceAll(body, "!", `\u0021`)+"\nEOF", "")
}

// manifest is the JSON of an object that is applied, without a status.
func manifest(obj runtime.Object) (string, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return "", err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return "", err
	}
	delete(m, "status")
	data, err = json.MarshalIndent(m, "", "  ")
	return string(data), err
}

// untilHealthy: the phase counts only for the generation that the controller
// has seen, and not while the condition Progressing is False: then the API
// server refuses the ReplicaSet, and the phase is of the version before. A
// Rollout without a controller never is Healthy: the wait fails at its
// deadline.
func (b *builder) untilHealthy(name string, n, minReady int32) string {
	const status = "{.metadata.generation}={.status.observedGeneration}={.status.phase}=" + progressing + ".status}"
	return b.untilStatus(name, "Healthy", patience(n, minReady), status, `^\([0-9][0-9]*\)=\1=Healthy=[^F]*$`)
}

// progressing begins a jsonpath of the condition Progressing.
const progressing = `{.status.conditions[?(@.type=="Progressing")]`

func (b *builder) untilObserved(name string) string {
	return b.untilStatus(name, "seen by its controller", 60, "{.metadata.generation}={.status.observedGeneration}", `^\([0-9][0-9]*\)=\1$`)
}

func (b *builder) untilStatus(name, what string, seconds int64, jsonpath, pattern string) string {
	get := func(jsonpath string) string {
		return b.get("rollout " + name + " -o jsonpath=" + quote(jsonpath))
	}
	return fmt.Sprintf(`(
echo 'Waiting up to %ds until Rollout %s is %s'
end=$(($(date +%%s) + %d))
until %s | grep -q %s; do
  if [ "$(date +%%s)" -ge "$end" ]; then
    echo "STOP: after %ds Rollout %s is not %s: $(%s)" >&2
    exit 1
  fi
  sleep 1
done
)`, seconds, name, what, seconds, get(jsonpath), quote(pattern), seconds, name, what,
		get("phase {.status.phase}, {.status.message}; generation {.metadata.generation}, seen {.status.observedGeneration}; "+
			progressing+".reason}: "+progressing+".message}"))
}

// untilAvailable prints how far it is, and ends with the reason.
func (b *builder) untilAvailable(name string, n, minReady int32) string {
	return b.kubectl(fmt.Sprintf("rollout status deployment/%s --timeout=%ds", name, patience(n, minReady)))
}

// remove begins a deletion. By itself kubectl would wait for its end, for up to
// a week.
func (b *builder) remove(object, flags string) string {
	return b.kubectl("delete " + object + flags + " --ignore-not-found --wait=false")
}

// untilGone names the object when it times out.
func (b *builder) untilGone(object string, seconds int64) string {
	return fmt.Sprintf("echo 'Waiting up to %ds until %s is gone'\n%s", seconds, object, b.kubectl(fmt.Sprintf("wait --for=delete %s --timeout=%ds", object, seconds)))
}

// patience is in seconds, for pods that are replaced one after the other.
func patience(n, minReady int32) int64 { return max(600, int64(n)*(30+int64(minReady))) }

// scaler is the one HorizontalPodAutoscaler of the workload, or nil.
func (b *builder) scaler(hpas []autoscalingv2.HorizontalPodAutoscaler, kind, name, otherKind, otherName string) *autoscalingv2.HorizontalPodAutoscaler {
	var found []*autoscalingv2.HorizontalPodAutoscaler
	for i := range hpas {
		h, ref := &hpas[i], hpas[i].Spec.ScaleTargetRef
		ours := ref.Kind == kind && ref.Name == name || ref.Kind == otherKind && ref.Name == otherName
		if ours && (h.Namespace == b.namespace || h.Namespace == "") {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		b.names("", found[0].Name)
		return found[0]
	}
	var names []string
	for _, h := range found {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	b.add(field.Forbidden(field.NewPath("hpas"), "HorizontalPodAutoscalers "+strings.Join(names, " and ")+
		" scale the same pods, so both would stop (AmbiguousSelector); keep one"))
	return nil
}

// handOver comes when the new workload is there and before the old one goes:
// without its target an autoscaler does nothing. It returns the script that
// stops a later step if the autoscaler has another target by then.
func (b *builder) handOver(h *autoscalingv2.HorizontalPodAutoscaler, to schema.GroupVersionKind, name string) string {
	if h == nil {
		return ""
	}
	target := b.hasTarget(h, to, name)
	b.do("Hand the HorizontalPodAutoscaler over; never add a second one", b.scale(h, to, name), fmt.Sprintf(`(
echo 'Looking for 10s whether HorizontalPodAutoscaler %s keeps its target'
for seconds in 1 2 7; do
sleep "$seconds"
%sdone
)`, h.Name, target))
	b.warn("Change scaleTargetRef of the HorizontalPodAutoscaler " + h.Name + " to " + to.Kind +
		" where its manifest is kept too, or the next apply puts it back. If that happens while the plan runs, the plan stops.")
	return target
}

// hasTarget is a script that stops if the autoscaler scales anything else. KEDA
// and GitOps tools put its old target back within seconds. Without its target
// it stops, and the pods keep their number under any load.
func (b *builder) hasTarget(h *autoscalingv2.HorizontalPodAutoscaler, to schema.GroupVersionKind, name string) string {
	return fmt.Sprintf(`target=$(%s) || exit 1
if [ "$target" != %s ]; then
  printf 'STOP: HorizontalPodAutoscaler %s does not scale %s. Its target: %%s\n' "${target:-none}" >&2
  echo 'Change scaleTargetRef where its manifest is kept, or stop the tool that puts it back, and run this again.' >&2
  exit 1
fi
`, b.targetOf(h), quote(to.Kind+" "+name), h.Name, to.Kind+" "+name)
}

func (b *builder) targetOf(h *autoscalingv2.HorizontalPodAutoscaler) string {
	return b.find(&state{kind: "hpa", name: h.Name}, "{.spec.scaleTargetRef.kind} {.spec.scaleTargetRef.name}")
}

// scale makes the autoscaler scale another workload.
func (b *builder) scale(h *autoscalingv2.HorizontalPodAutoscaler, to schema.GroupVersionKind, name string) string {
	patch := fmt.Sprintf(`{"spec":{"scaleTargetRef":{"apiVersion":%q,"kind":%q,"name":%q}}}`, to.GroupVersion(), to.Kind, name)
	return b.kubectl("patch hpa " + h.Name + " --type=merge -p " + quote(patch))
}

// handBack returns an autoscaler to its old target, before its new target is
// removed, and keeps that if the autoscaler has it again after 10 seconds.
func (b *builder) handBack(h *autoscalingv2.HorizontalPodAutoscaler, to schema.GroupVersionKind, name string) string {
	if h == nil {
		return ""
	}
	return b.scale(h, to, name) + fmt.Sprintf(` && sleep 10 && { [ "$(%s)" = %s ] || ! echo %s >&2; } && `, b.targetOf(h), quote(to.Kind+" "+name),
		quote("STOP: HorizontalPodAutoscaler "+h.Name+" does not scale "+to.Kind+" "+name))
}

// holdReplicas gives spec.replicas another field manager if the manifest that
// is applied from now on has no replicas. Without one, the first such apply
// would remove the field, and the workload would run a single pod. An
// autoscaler becomes the field's manager only with its first change, and then
// nothing is left to do. The number is the one in the cluster: the autoscaler
// may have changed it already.
func (b *builder) holdReplicas(h *autoscalingv2.HorizontalPodAutoscaler, kept *int32, of *state, gvk schema.GroupVersionKind, n int32) {
	if kept != nil && h == nil {
		if *kept != n {
			b.warn(fmt.Sprintf("The manifest has %d replicas and %d run: the next apply of it changes their number.", *kept, n))
		}
		return
	}
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"spec":{"replicas":%%s}}\n`, gvk.GroupVersion(), gvk.Kind, of.name)
	b.do("Let a separate field manager keep the replicas, so that an apply of a manifest without them does not leave one pod", fmt.Sprintf(`(
replicas=$(%s) || exit 1
answer=$(printf %s "$replicas" | %s 2>&1) || case $answer in
*' conflict'*) echo 'An autoscaler keeps the replicas already' ;;
*)
  printf '%%s\n' "$answer" >&2
  exit 1
  ;;
esac
)`, b.find(of, "{.spec.replicas}"), quote(body), b.kubectl("apply --server-side --field-manager=replicas -f -")), "")
}

func deploymentKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
}

// replicas of neither kind that are not set are 1.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// count is how kubectl prints replicas.
func count(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
