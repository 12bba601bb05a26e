// Package mutants is the list of lockstep's negative controls: small mistakes
// in its own source, each with the one test that must notice it and the rule
// by which it does. A check that no mistake can fail proves nothing.
//
// The list is data. The package's test plants one mistake after the other in a
// copy that only the compiler sees (go build -overlay); make mutants runs all
// of them, go test makes sure that all of them can still be planted and compile.
package mutants

// Mutant is one mistake.
type Mutant struct {
	Name   string // the mistake, in a few words
	Edits  []Edit
	Test   string // the test that must fail: package, a blank, the name as go test -run takes it
	Rule   string // what its output must say
	Remark string // why this test, where that is not plain; what shadows the mistake otherwise
}

// Edit is a replacement in one file. The old text occurs exactly once.
type Edit struct {
	File     string
	Old, New string
}
