// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"maps"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// content is a status as the API server stores it.
type content struct {
	fields     map[string]any // JSON values, without the conditions
	conditions conditionList
}

// decode reads the status of d. listName is the field of the conditions.
func (d *document) decode(listName string, known values) (content, error) {
	native := d.nativeConditions(listName)
	if len(native) > 0 {
		d = d.without(listName)
	}
	encoded, err := d.encodedFields()
	if err != nil {
		return content{}, err
	}
	c := content{fields: make(map[string]any, len(encoded))}
	for name, raw := range encoded {
		value := known.decode(raw)
		if value != nil {
			c.fields[name] = value
		}
	}
	if listName == absent {
		return c, nil
	}
	if len(native) > 0 {
		c.conditions = conditionList{isSet: true, items: nativeConditionsOf(native)}
		return c, nil
	}
	value, hasValue := c.fields[listName]
	if !hasValue {
		_, isNull := encoded[listName]
		c.conditions.isSet = isNull && d.isTyped() // without omitempty, a nil list is null
		return c, nil
	}
	delete(c.fields, listName)
	c.conditions.isSet = true
	c.conditions.items, err = conditionsOf(d.field(listName), value)
	if err != nil {
		return content{}, fmt.Errorf("status: status.%s: %w", listName, err)
	}
	return c, nil
}

// encodedFields are the fields of the status as encoding/json writes them.
func (d *document) encodedFields() (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if !d.isTyped() {
		for name, value := range d.status {
			raw, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("status: status.%s: %w", name, err)
			}
			fields[name] = raw
		}
		return fields, nil
	}
	raw, err := json.Marshal(d.typed.Interface())
	if err == nil {
		err = utiljson.Unmarshal(raw, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("status: the status: want an object: %w", err)
	}
	return fields, nil // nil if the status encodes itself as null
}

// values are JSON values by their texts. Before, after and the reply have most
// of them in common: each is decoded once, and none is changed.
type values map[string]any

// decode returns the JSON value of raw, which encoding/json wrote.
func (v values) decode(raw json.RawMessage) any {
	value, isKnown := v[string(raw)]
	if isKnown {
		return value
	}
	value = decode(raw)
	v[string(raw)] = value
	return value
}

// tree is the whole status as JSON.
func (c content) tree(listName string) map[string]any {
	fields := maps.Clone(c.fields)
	if c.conditions.isSet {
		fields[listName] = c.conditions.encoded()
	}
	return fields
}
