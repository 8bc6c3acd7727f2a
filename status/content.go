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
func (d *document) decode(listName string) (content, error) {
	fields, err := d.encodedFields()
	if err != nil {
		return content{}, err
	}
	_, hasList := fields[listName]
	canonical(fields)
	c := content{fields: fields}
	value, hasValue := fields[listName]
	if listName == absent {
		return c, nil
	}
	if !hasValue {
		c.conditions.isSet = hasList && d.isTyped() // without omitempty, a nil list is null
		return c, nil
	}
	delete(fields, listName)
	c.conditions.isSet = true
	c.conditions.items, err = conditionsOf(d.field(listName), value)
	if err != nil {
		return content{}, fmt.Errorf("status: status.%s: %w", listName, err)
	}
	return c, nil
}

// encodedFields are the fields of the status as encoding/json reads them.
func (d *document) encodedFields() (map[string]any, error) {
	fields := map[string]any{}
	if !d.isTyped() {
		for name, value := range d.status {
			raw, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("status: status.%s: %w", name, err)
			}
			var decoded any
			_ = utiljson.Unmarshal(raw, &decoded) // cannot fail, because encoding/json wrote it
			fields[name] = decoded
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
	if fields == nil {
		fields = map[string]any{} // the status encodes itself as null
	}
	return fields, nil
}

// tree is the whole status as JSON.
func (c content) tree(listName string) map[string]any {
	fields := maps.Clone(c.fields)
	if c.conditions.isSet {
		fields[listName] = c.conditions.encoded()
	}
	return fields
}
