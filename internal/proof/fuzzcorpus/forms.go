// Package fuzzcorpus has what a tenant may write to lead a call elsewhere than to a
// pod of his own. Some of it is harmless as it stands; none of it may lead
// anywhere else.
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

// Ports returns forms that are no port.
func Ports() []string { return forms(ports) }

// Paths returns forms of paths and queries.
func Paths() []string { return forms(paths) }

// forms reads Go strings, one a line.
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
