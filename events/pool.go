// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// A pool has objects that may make room for others. It is not in any order.
type pool []*object

// pick returns one of the objects, which the number n chooses, or nil.
func (p *pool) pick(n uint64) *object {
	if len(*p) == 0 {
		return nil
	}
	return (*p)[n%uint64(len(*p))]
}

// moveTo takes o out of its pool and puts it into p, if p is not nil.
func (o *object) moveTo(p *pool) {
	if o.pool == p {
		return
	}
	if o.pool != nil {
		rest := *o.pool
		last := len(rest) - 1
		rest[o.slot] = rest[last]
		rest[o.slot].slot = o.slot
		rest[last] = nil
		*o.pool = rest[:last]
	}
	o.pool = p
	if p != nil {
		o.slot = len(*p)
		*p = append(*p, o)
	}
}
