// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package adoption_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edit replaces lines of one file. The old lines must be there exactly once.
// Without old lines the edit makes a new file.
type edit struct {
	file     string
	old, new string
}

// parseEdits reads edits from text in this form:
//
//	== path/of/the/file
//	old lines
//	=>
//	new lines
//
// Lines before the first "==" are a comment. One empty line before the next
// "==" separates two edits and belongs to neither.
func parseEdits(text string) ([]edit, error) {
	var edits []edit
	var part *string
	number := 0
	for line := range strings.Lines(text) {
		number++
		switch file, isHead := strings.CutPrefix(line, "== "); {
		case isHead:
			edits = append(edits, edit{file: strings.TrimSpace(file)})
			part = &edits[len(edits)-1].old
		case strings.TrimSpace(line) == "=>":
			if len(edits) == 0 || part != &edits[len(edits)-1].old {
				return nil, fmt.Errorf("line %d: \"=>\" without a \"== file\" before it", number)
			}
			part = &edits[len(edits)-1].new
		case part != nil:
			*part += line
		}
	}
	for i, e := range edits {
		if e.new == "" {
			return nil, fmt.Errorf("%s: an edit has no \"=>\" or no line after it", e.file)
		}
		if i < len(edits)-1 && strings.HasSuffix(e.new, "\n\n") {
			edits[i].new = strings.TrimSuffix(e.new, "\n")
		}
	}
	if len(edits) == 0 {
		return nil, fmt.Errorf("no line begins with \"== \"")
	}
	return edits, nil
}

// apply makes the edit in the project at dir.
func (e edit) apply(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(e.file))
	body, err := os.ReadFile(path)
	switch {
	case e.old == "" && err == nil:
		return fmt.Errorf("%s: the edit makes a new file, and the project has one", e.file)
	case e.old == "":
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(e.new), 0o600)
	case err != nil:
		return err
	}
	// A line break in front keeps an old text from matching the end of a longer line.
	text, old := "\n"+string(body), "\n"+e.old
	if n := strings.Count(text, old); n != 1 {
		return fmt.Errorf("%s: the lines to replace are there %d times, want once:\n%s", e.file, n, e.old)
	}
	text = strings.Replace(text, old, "\n"+e.new, 1)
	return os.WriteFile(path, []byte(text[1:]), 0o600)
}

// insert makes the edits of a file in testdata.
func insert(t *testing.T, dir, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	edits, err := parseEdits(string(text))
	require.NoError(t, err, file)
	for _, e := range edits {
		require.NoError(t, e.apply(dir), "testdata/%s no longer fits the project", file)
	}
}

func TestEdits_RefuseWhatDoesNotFit(t *testing.T) {
	const file = "a\nb\nc\nb\nc\n"
	for name, tc := range map[string]struct {
		reason string
		text   string
		says   string
		want   string
	}{
		"Replaces":    {reason: "The new lines take the place of the old ones.", text: "== f\na\n=>\nx\ny\n", want: "x\ny\nb\nc\nb\nc\n"},
		"Comment":     {reason: "Text before the first edit is for the reader.", text: "why\n== f\na\nb\n=>\nx\n", want: "x\nc\nb\nc\n"},
		"InSequence":  {reason: "An edit sees what the one before it wrote.", text: "== f\na\n=>\nx\n\n== f\nx\nb\n=>\ny\n", want: "y\nc\nb\nc\n"},
		"Absent":      {reason: "A project that changed is noticed.", text: "== f\nd\n=>\nx\n", says: "0 times"},
		"Twice":       {reason: "It is not guessed which one is meant.", text: "== f\nb\n=>\nx\n", says: "2 times"},
		"PartOfALine": {reason: "Whole lines are compared.", text: "== g\nb\n=>\nx\n", says: "0 times"},
		"NoFile":      {reason: "A file that was moved is noticed.", text: "== h\na\n=>\nx\n", says: "no such file"},
		"Exists":      {reason: "A new file replaces nothing.", text: "== f\n=>\nx\n", says: "the project has one"},
		"NoArrow":     {reason: "A forgotten arrow is not an empty edit.", text: "== f\na\n", says: "no \"=>\""},
		"TwoArrows":   {reason: "Each edit has one arrow.", text: "== f\na\n=>\nb\n=>\nc\n", says: "line 5"},
		"Nothing":     {reason: "An empty file edits nothing.", text: "only a comment\n", says: "no line begins"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte(file), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "g"), []byte("ab\nc\n"), 0o600))
			edits, err := parseEdits(tc.text)
			for _, e := range edits {
				if err == nil {
					err = e.apply(dir)
				}
			}
			if tc.says != "" {
				assert.ErrorContains(t, err, tc.says, tc.reason)
				return
			}
			require.NoError(t, err, tc.reason)
			got, err := os.ReadFile(filepath.Join(dir, "f"))
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(got), tc.reason)
		})
	}
}
