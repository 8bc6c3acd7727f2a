// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package exhaust

// set holds hashes. It is a table with open addressing: 11 to 22 bytes for each
// hash, and one look at the memory for most.
type set struct {
	table []uint64 // 0 is an empty slot
	count int
}

// has reports whether a hash is in the set.
func (s *set) has(hash uint64) bool {
	if len(s.table) == 0 {
		return false
	}
	return s.table[s.slot(hash)] != 0
}

// add adds a hash, unless it is in the set already.
func (s *set) add(hash uint64) {
	if 4*s.count >= 3*len(s.table) {
		s.grow()
	}
	slot := s.slot(hash)
	if s.table[slot] != 0 {
		return
	}
	s.table[slot] = hash
	s.count++
}

// slot is where a hash is, or would be.
func (s *set) slot(hash uint64) int {
	last := len(s.table) - 1
	slot := int(hash>>1) & last //nolint:gosec // masked
	for s.table[slot] != 0 && s.table[slot] != hash {
		slot = (slot + 1) & last
	}
	return slot
}

func (s *set) grow() {
	old := s.table
	s.table = make([]uint64, max(1024, 2*len(old)))
	for _, hash := range old {
		if hash != 0 {
			s.table[s.slot(hash)] = hash
		}
	}
}
