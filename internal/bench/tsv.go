// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EncodeTSV returns rows in the format of results.tsv, with the names of the
// columns in the first line.
func EncodeTSV(rows []Row) string {
	var b strings.Builder
	b.WriteString(columns + "\n")
	plain := strings.NewReplacer("\t", " ", "\n", " ")
	for _, r := range rows {
		cells := r.cells()
		for i, c := range cells {
			cells[i] = plain.Replace(c)
		}
		b.WriteString(strings.Join(cells, "\t") + "\n")
	}
	return b.String()
}

// DecodeTSV reads the format of EncodeTSV. An empty text has no rows.
func DecodeTSV(text string) ([]Row, error) {
	if text == "" {
		return nil, nil
	}
	head, body, _ := strings.Cut(text, "\n")
	if head != columns {
		return nil, errors.New("bench: results.tsv: the columns are not " + strings.ReplaceAll(columns, "\t", ", "))
	}
	var rows []Row
	for line := range strings.Lines(body) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(c) != strings.Count(columns, "\t")+1 {
			return nil, fmt.Errorf("bench: results.tsv: line %d has %d columns", len(rows)+2, len(c))
		}
		rows = append(rows, Row{
			Package: c[0], Measure: c[1], Unit: c[2], Ours: c[3], Peer: c[4], PeerValue: c[5], Ratio: c[6], Gate: c[7], Pass: c[8],
		})
	}
	return rows, nil
}

// Merge replaces the rows of pkg in old with fresh, and keeps the packages in
// alphabetical order.
func Merge(old []Row, pkg string, fresh []Row) []Row {
	out := slices.DeleteFunc(slices.Clone(old), func(r Row) bool { return r.Package == pkg })
	out = append(out, fresh...)
	slices.SortStableFunc(out, func(a, b Row) int { return strings.Compare(a.Package, b.Package) })
	return out
}
