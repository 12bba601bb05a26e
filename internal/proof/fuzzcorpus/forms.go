// Package fuzzcorpus has texts that a tenant may write to direct a call to another target
// than one of the tenant's pods. Some of them are valid. No text may direct a call to
// another target.
package fuzzcorpus

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed ports.txt
var ports string

//go:embed paths.txt
var paths string

// Ports returns texts that are not valid ports.
func Ports() []string { return forms(ports) }

// Paths returns texts of paths and queries.
func Paths() []string { return forms(paths) }

// forms parses quoted Go strings, one in each line.
func forms(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		form, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", line, err))
		}
		all = append(all, form)
	}
	return all
}
