// Package mutants is the list of lockstep's negative controls: small mistakes in its own
// source. Each has the one test that must detect it and the rule that the test reports. A
// check that no mistake can fail proves nothing.
//
// The list is data. The package's test applies one mistake after the other in a copy that
// only the compiler reads (go build -overlay). make mutants runs all of them. go test
// checks that each of them can still be applied and compiles.
package mutants

// Mutant is one mistake.
type Mutant struct {
	Name   string // the mistake, in a few words
	Edits  []Edit
	Test   string // the test that must fail: package, space, name for go test -run
	Rule   string // text that the test's output must contain
	Remark string // why this test, if that is not obvious; what else hides the mistake
}

// Edit is a replacement in one file. The old text occurs exactly once.
type Edit struct {
	File     string
	Old, New string
}
