// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package applyconfiguration_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/applyconfiguration"
)

// RunStatusApplyConfiguration is what the generators write for a status that
// embeds a Stamp, without its comments.
type RunStatusApplyConfiguration struct {
	applyconfiguration.StampApplyConfiguration `json:""`

	Phase *string `json:"phase,omitempty"`
}

func RunStatus() *RunStatusApplyConfiguration { return &RunStatusApplyConfiguration{} }

func (b *RunStatusApplyConfiguration) WithObservedGeneration(value int64) *RunStatusApplyConfiguration {
	b.StampApplyConfiguration.ObservedGeneration = &value //nolint:staticcheck // the generators write the whole path
	return b
}

// The generated configuration has a With method for each field of the Stamp.
// Fields that are not set are not applied.
func ExampleStampApplyConfiguration() {
	applied, err := json.Marshal(RunStatus().WithObservedGeneration(3))
	fmt.Println(string(applied), err)
	// Output:
	// {"observedGeneration":3} <nil>
}

// Each field must be a pointer of the type that the Stamp's field has or points
// to, under its name in JSON: the generators assume so.
func TestStampApplyConfiguration_HasTheFieldsOfStamp(t *testing.T) {
	stamp, config := reflect.TypeFor[status.Stamp](), reflect.TypeFor[applyconfiguration.StampApplyConfiguration]()
	require.Equal(t, stamp.NumField(), config.NumField())
	for i := range stamp.NumField() {
		of, field := stamp.Field(i), config.Field(i)
		want := of.Type
		if want.Kind() != reflect.Pointer {
			want = reflect.PointerTo(want)
		}
		assert.Equal(t, of.Name, field.Name)
		assert.Equal(t, of.Tag, field.Tag, of.Name)
		assert.Equal(t, want, field.Type, of.Name)
	}
}
