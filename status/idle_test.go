// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
)

// Zoo has a field of each type that one value can have in several forms.
type Zoo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Status            ZooStatus `json:"status,omitzero"`
}

type ZooStatus struct {
	*status.Stamp `json:",inline"`
	*Pen          `json:",inline"`

	Count    int64                         `json:"count"`
	Ratio    float64                       `json:"ratio,omitempty"`
	Quoted   int                           `json:"quoted,string,omitempty"`
	Text     string                        `json:"text,omitempty"`
	Raw      *runtime.RawExtension         `json:"raw,omitempty"`
	Raws     []runtime.RawExtension        `json:"raws,omitempty"`
	Quantity resource.Quantity             `json:"quantity,omitempty"` //nolint:modernize // is never empty, as in JSON
	Timeout  *metav1.Duration              `json:"timeout,omitempty"`
	Micro    *metav1.MicroTime             `json:"micro,omitempty"`
	Seen     metav1.Time                   `json:"seen,omitzero"`
	Port     intstr.IntOrString            `json:"port,omitzero"`
	Ports    map[string]intstr.IntOrString `json:"ports,omitempty"`
	Labels   map[string]string             `json:"labels,omitempty"`
	Nested   struct {
		Values []any `json:"values,omitempty"`
	} `json:"nested"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Pen is embedded by a pointer.
type Pen struct {
	Animals []string `json:"animals,omitempty"`
}

func (z *Zoo) DeepCopyObject() runtime.Object { return z.DeepCopy() }

func (z *Zoo) DeepCopy() *Zoo {
	out := &Zoo{TypeMeta: z.TypeMeta, ObjectMeta: *z.ObjectMeta.DeepCopy()}
	raw, err := json.Marshal(z.Status)
	if err == nil {
		err = json.Unmarshal(raw, &out.Status)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// jsonForms are spellings that decoders and encoders treat differently.
var jsonForms = []string{
	`1.0`, `1e3`, `-0`, `0.1e-7`, `18446744073709551615`, `9007199254740993`, `1E+2`, `1e21`, `123456789.5`,
	`"\u00e9"`, `"\/"`, `"<&>\u2028"`, `"\ud800"`, `"é"`, `null`, `true`, `[]`, `{}`, `[null]`, `[{"a":null}]`, `{"b":1,"a":{"c":null}}`, `{"a":1,"a":2}`,
}

// fill sets random fields of a status.
func (z *ZooStatus) fill(r *rand.Rand) {
	form := func() runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"v":%s, "w":[%s]}`, jsonForms[r.IntN(len(jsonForms))], jsonForms[r.IntN(len(jsonForms))])}
	}
	text := func() string { return []string{"", "a", "é", "a\xff\xfeb", "<&>\u2028\x00", "\"\\/"}[r.IntN(6)] }
	port := func() intstr.IntOrString {
		return []intstr.IntOrString{{}, intstr.FromInt32(80), intstr.FromString("80"), intstr.FromString("http")}[r.IntN(4)]
	}
	for range 4 {
		switch r.IntN(16) {
		case 0:
			z.Count = r.Int64()
		case 1:
			z.Ratio = []float64{0, 1, 0.5, 1e21, 1e-9, math.Copysign(0, -1)}[r.IntN(6)]
		case 2:
			z.Quoted = r.IntN(3)
		case 3:
			z.Text = text()
		case 4:
			z.Raw = ptr.To(form())
		case 5:
			z.Raws = []runtime.RawExtension{form(), form()}
		case 6:
			z.Quantity = resource.MustParse([]string{"1000m", "1", "1Gi", "0.5", "1e3"}[r.IntN(5)])
		case 7:
			z.Timeout = &metav1.Duration{Duration: time.Duration(r.Int64N(1e12))}
		case 8:
			z.Micro = ptr.To(metav1.NewMicroTime(noon.Add(time.Duration(r.Int64N(1e12)))))
		case 9:
			z.Seen = metav1.NewTime(noon.Add(time.Duration(r.Int64N(1e12))).In(time.FixedZone("x", 7200)))
		case 10:
			z.Port = port()
		case 11:
			z.Ports = map[string]intstr.IntOrString{text(): port(), "b": port()}
		case 12:
			z.Labels = map[string]string{text(): text(), "k": text()}
		case 13:
			z.Nested.Values = []any{text(), r.Float64(), nil, map[string]any{"a": nil, "b": 1.0}, float32(2), uint8(3)}
		case 14:
			z.Pen = &Pen{Animals: []string{text()}}
		case 15:
			z.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: text(), Message: text()}, {Type: "B", Status: "False"}}
		}
	}
}

// TestCommit_WritesAnyStatusOnce commits the same status twice, from what the
// server stored the first time.
func TestCommit_WritesAnyStatusOnce(t *testing.T) {
	for seed := range uint64(300) {
		s := newServer(t)
		s.create("a")
		for round := range 3 { // from an empty status, then from the last one
			for again := range 2 {
				r := rand.New(rand.NewPCG(seed, uint64(round)))
				before := get[Zoo](t, s, "a")
				after := before.DeepCopy()
				after.Status.fill(r)
				result, err := commit(t, s, before, after, running)
				require.NoError(t, err, "seed %d", seed)
				if again == 1 {
					require.Equal(t, status.Unchanged, result, "seed %d round %d: %s", seed, round, s.requests[len(s.requests)-1])
				}
			}
		}
	}
}

func TestCommit_WritesAnyUnstructuredStatusOnce(t *testing.T) {
	for seed := range uint64(300) {
		s := newServer(t)
		s.create("a")
		for again := range 2 {
			r := rand.New(rand.NewPCG(seed, 1))
			before := get[unstructured.Unstructured](t, s, "a")
			after := before.DeepCopy()
			fields := map[string]any{}
			if stored, ok := after.Object["status"].(map[string]any); ok {
				fields = stored
			}
			for i := range 4 {
				fields[fmt.Sprint("f", i)] = randomValue(r, 3)
			}
			after.Object["status"] = fields
			result, err := commit(t, s, before, after, running)
			require.NoError(t, err, "seed %d", seed)
			if again == 1 {
				require.Equal(t, status.Unchanged, result, "seed %d: %s", seed, s.requests[len(s.requests)-1])
			}
		}
	}
}

// randomValue is what decoders, and careless programs, put into a tree.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(14); {
	case n == 0 && depth > 0:
		return map[string]any{"a": randomValue(r, depth-1), "b\xff": randomValue(r, depth-1), "c": nil}
	case n == 1 && depth > 0:
		return []any{randomValue(r, depth-1), nil, randomValue(r, depth-1)}
	default:
		form := json.RawMessage(jsonForms[r.IntN(len(jsonForms))])
		return []any{
			nil, true, int64(1), float64(1), 0.5, json.Number("1.0"), json.Number("1e3"), int32(2), "a\xff", "é<&>", "", form,
			map[string]string{"a": "b"},
			[]string{},
		}[n]
	}
}

// TestCommit_AfterNeverSharesMemoryWithBefore writes into everything that after
// leads to.
func TestCommit_AfterNeverSharesMemoryWithBefore(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := newServer(t)
		s.create("a")
		first := get[Zoo](t, s, "a")
		after := first.DeepCopy()
		after.Status.fill(r)
		_, err := commit(t, s, first, after, running)
		require.NoError(t, err)

		for _, how := range []string{"Written", "Unchanged", "Forms", "Merged", "Patch"} {
			for _, untyped := range []bool{false, true} {
				var before, after, kept status.Object
				if untyped {
					u := get[unstructured.Unstructured](t, s, "a")
					before, after, kept = u, u.DeepCopy(), u.DeepCopy()
				} else {
					z := get[Zoo](t, s, "a")
					before, after, kept = z, z.DeepCopy(), z.DeepCopy()
				}
				change(t, s, how, before, after, int64(seed))
				scribble(reflect.ValueOf(after), 0)
				require.Equal(t, encode(t, kept), encode(t, before), "%s, seed %d, untyped %v", how, seed, untyped)
			}
		}
	}
}

// change commits in one of the ways in which after is filled.
func change(t *testing.T, s *server, how string, before, after status.Object, n int64) {
	t.Helper()
	set := func(o status.Object) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			u.Object["status"].(map[string]any)["text"] = fmt.Sprint(how, n)
			return
		}
		o.(*Zoo).Status.Text = fmt.Sprint(how, n)
	}
	switch how {
	case "Written":
		set(after)
	case "Merged":
		set(after)
		s.relabel("a", "n", fmt.Sprint(s.version))
	case "Forms": // equal as stored
		if u, ok := after.(*unstructured.Unstructured); ok {
			u.Object["status"].(map[string]any)["observedGeneration"] = 1.0
			u.Object["status"].(map[string]any)["extra"] = nil
		} else {
			after.(*Zoo).Status.Labels = map[string]string{}
		}
	case "Patch":
		set(after)
		_, err := status.FieldNames{}.Patch(before, after, running, noon)
		require.NoError(t, err)
		return
	}
	if u, ok := before.(*unstructured.Unstructured); ok {
		_, err := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{}).Commit(t.Context(), u, after, running)
		require.NoError(t, err)
		return
	}
	_, err := via(client[Zoo]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
}

// scribble changes everything that v leads to.
func scribble(v reflect.Value, depth int) {
	if depth > 40 {
		return
	}
	for _, part := range parts(v) {
		scribble(part, depth+1)
	}
	overwrite(v)
}

// parts returns the values that v holds or points to.
func parts(v reflect.Value) (all []reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the others hold no memory
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			all = append(all, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				all = append(all, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			all = append(all, v.MapIndex(k))
		}
	}
	return all
}

// overwrite changes v itself, where that can be done.
func overwrite(v reflect.Value) {
	if v.Kind() == reflect.Map {
		v.Clear()
	}
	if !v.CanSet() {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
	case reflect.TypeFor[any]():
		v.Set(reflect.ValueOf("scribbled"))
	}
	switch v.Kind() { //nolint:exhaustive // the others are changed in their parts
	case reflect.String:
		v.SetString("scribbled")
	case reflect.Int64, reflect.Int32, reflect.Int:
		v.SetInt(99)
	case reflect.Uint8:
		v.SetUint('x')
	}
}

func TestScribble_ReachesEverything(t *testing.T) {
	z := &Zoo{Status: ZooStatus{Stamp: &status.Stamp{StartedAt: at(0)}, Labels: map[string]string{"a": "b"}, Raw: &runtime.RawExtension{Raw: []byte("{}")}}}
	alias := *z
	before := encode(t, z.Status.Labels) + z.Status.StartedAt.String() + string(z.Status.Raw.Raw)
	scribble(reflect.ValueOf(&alias), 0)
	assert.NotContains(t, encode(t, z.Status.Labels)+z.Status.StartedAt.String()+string(z.Status.Raw.Raw), before)
	assert.Equal(t, "xx", string(z.Status.Raw.Raw))
	assert.Equal(t, int64(1), z.Status.StartedAt.Unix())
}
