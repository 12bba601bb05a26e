package reason_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func TestNumbersAndCodesAreUniqueAndAscend(t *testing.T) {
	seen := map[reason.Code]bool{}
	last := 0
	for _, e := range reason.All() {
		if seen[e.Code] {
			t.Errorf("%s stands in the catalogue twice", e.Code)
		}
		seen[e.Code] = true
		if e.Number <= last {
			t.Errorf("%s has number %d after %d", e.Code, e.Number, last)
		}
		last = e.Number
		if e.Sentence == "" || e.ToDo == "" {
			t.Errorf("%s does not say what is wrong and what to do", e.Code)
		}
	}
}

func TestReasonsThatNeedAPersonAreSeenSomewhere(t *testing.T) {
	for _, e := range reason.All() {
		if needs := e.Kind == reason.Attention; needs != (len(e.Seen()) > 0) {
			t.Errorf("%s needs a person: %t, and is seen in %v", e.Code, needs, e.Seen())
		}
	}
}

func TestClassOf(t *testing.T) {
	gone := reason.WithClass(reason.Moved, errors.New("gone"))
	for name, tc := range map[string]struct {
		err  error
		want reason.Class
	}{
		"an error without a class is retried":             {errors.New("boom"), reason.Again},
		"a class survives wrapping":                       {fmt.Errorf("delete pod: %w", gone), reason.Moved},
		"of joined errors, the class that retries counts": {errors.Join(gone, errors.New("boom")), reason.Again},
		"joined errors of one class keep that class":      {fmt.Errorf("a: %w", errors.Join(gone, gone)), reason.Moved},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reason.ClassOf(tc.err); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if reason.WithClass(reason.Human, nil) != nil {
		t.Error("a nil error got a class")
	}
}

func TestCodeOf(t *testing.T) {
	prevented := reason.WithCode(reason.CreationPrevented, errors.New("boom"))
	if got := reason.CodeOf(fmt.Errorf("create pod: %w", prevented)); got != reason.CreationPrevented || reason.ClassOf(prevented) != reason.Again {
		t.Errorf("got %q of class %s", got, reason.ClassOf(prevented))
	}
	if got := reason.CodeOf(errors.New("boom")); got != "" || reason.WithCode(reason.CreationPrevented, nil) != nil {
		t.Errorf("got %q for an error without a code", got)
	}
}

var update = flag.Bool("update", false, "write the generated files again")

func TestGeneratedReasonsAreUpToDate(t *testing.T) {
	const file = "../../../docs/reasons.md"
	if *update {
		if err := os.WriteFile(file, []byte(reason.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(committed) != reason.Markdown() {
		t.Error("docs/reasons.md is out of date, run make generate")
	}
}
