// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command compare compares controllerkit with its peers under the same faults.
// Run it in internal/bench. It takes what make bench measured of single
// packages and the group controller of whole controllers, runs the migrations
// to a canary, and writes all of it to compare.json, as text to COMPARE.txt and
// as a picture to internal/docs/compare.svg. With -draw it measures nothing and
// draws compare.json again. In both cases it counts lines of code, and takes
// the counts of make sieve from its page.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/proompteng/controllerkit/internal/bench"
)

func main() {
	draw := flag.Bool("draw", false, "draw compare.json again, without measuring")
	runs := flag.Int("runs", 300, "runs of a load, as the controllers were measured")
	rounds := flag.Int("rounds", 3, "rounds of a load, likewise")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c := comparison{Runs: *runs, Rounds: *rounds}
	var err error
	if *draw {
		c, err = read(".")
	} else {
		err = c.measure(ctx)
	}
	stop()
	if err == nil {
		err = c.count(".")
	}
	if err == nil {
		err = c.draw()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// The files that are written, from internal/bench.
const dataFile, textFile = "compare.json", "COMPARE.txt"

var pictureFile = filepath.Join("..", "docs", "compare.svg")

// read reads the last measurement; dir is internal/bench.
func read(dir string) (c comparison, err error) {
	data, err := os.ReadFile(filepath.Join(dir, dataFile))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}

// count replaces the figures that are counted in files; dir is internal/bench.
func (c *comparison) count(dir string) error {
	inCode, err := lines(dir)
	if err != nil {
		return err
	}
	inPage, err := sieve(dir)
	if err != nil {
		return err
	}
	c.Figures = slices.DeleteFunc(c.Figures, func(f bench.Figure) bool {
		return f.Measure == ownLines || strings.HasPrefix(f.Measure, sievePlans)
	})
	c.Figures = slices.Concat(c.Figures, inCode, inPage)
	return nil
}

// measure runs the migrations, and takes the rest from the reports of the
// groups.
func (c *comparison) measure(ctx context.Context) error {
	controllers, err := bench.Read("controller")
	if err != nil {
		return err
	}
	c.Figures = controllers.Figures
	for _, group := range []string{"events", "jobgc"} {
		r, err := bench.Read(group)
		if err != nil {
			return err
		}
		for _, f := range r.Figures {
			c.Figures = append(c.Figures, exactly(f.Measure, f.Unit, f.Subject, f.Median))
		}
	}
	machine, peers := controllers.About[0], controllers.About[1]
	c.About = append([]string{fmt.Sprintf("%s, Argo Rollouts' own controller; %s",
		regexp.MustCompile(`controller-runtime v[\d.]+`).FindString(peers),
		regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindString(machine)), machine}, controllers.About[2:]...)
	ready, err := migrated(ctx)
	c.Figures = append(c.Figures, ready...)
	return err
}

// draw writes the file of the figures, the text and the picture.
func (c *comparison) draw() error {
	data, err := bench.Encode(c)
	if err != nil {
		return err
	}
	text, err := c.text()
	if err != nil {
		return err
	}
	picture, err := c.picture()
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stdout, text)
	for name, body := range map[string]string{dataFile: string(data), textFile: text, pictureFile: picture} {
		if err := os.WriteFile(name, []byte(body), 0o644); err != nil { //nolint:gosec // the mode in git
			return err
		}
	}
	return nil
}
