package contract_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

var update = flag.Bool("update", false, "write the generated files anew")

func TestMaxUnavailable(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want plan.Budget
	}{
		"a number is a number of pods":                 {"3", plan.Budget{Pods: 3}},
		"white space around it is ignored":             {" 3\n", plan.Budget{Pods: 3}},
		"a percentage is one":                          {"25%", plan.Budget{Percent: 25}},
		"a hundred percent is the most":                {"100%", plan.Budget{Percent: 100}},
		"more than a hundred percent is invalid":       {"101%", plan.Budget{Invalid: `"101%"`}},
		"zero is invalid":                              {"0", plan.Budget{Invalid: `"0"`}},
		"zero percent is invalid":                      {"0%", plan.Budget{Invalid: `"0%"`}},
		"a negative number is invalid":                 {"-1", plan.Budget{Invalid: `"-1"`}},
		"a sign is invalid":                            {"+1", plan.Budget{Invalid: `"+1"`}},
		"a fraction is invalid":                        {"2.5%", plan.Budget{Invalid: `"2.5%"`}},
		"a space before the percent sign is invalid":   {"25 %", plan.Budget{Invalid: `"25 %"`}},
		"nothing is invalid":                           {"", plan.Budget{Invalid: `""`}},
		"a number beyond 32 bits is invalid":           {"2147483648", plan.Budget{Invalid: `"2147483648"`}},
		"a tenant's line break is shown, not executed": {"1\nlevel=info", plan.Budget{Invalid: `"1\nlevel=info"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := contract.MaxUnavailable(map[string]string{contract.MaxUnavailableAnnotation: tc.text})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := contract.MaxUnavailable(nil); got != (plan.Budget{}) {
		t.Errorf("without the annotation: got %v", got)
	}
}

func TestForce(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want group.Force
	}{
		"a number is one":                    {"3", group.Force{Given: true, Replicas: 3}},
		"zero is a number":                   {"0", group.Force{Given: true}},
		"white space around it is ignored":   {" 3\n", group.Force{Given: true, Replicas: 3}},
		"the largest number is one":          {"2147483647", group.Force{Given: true, Replicas: 1<<31 - 1}},
		"a number beyond 32 bits is invalid": {"2147483648", group.Force{Invalid: `"2147483648"`}},
		"a negative number is invalid":       {"-1", group.Force{Invalid: `"-1"`}},
		"a sign is invalid":                  {"+1", group.Force{Invalid: `"+1"`}},
		"a fraction is invalid":              {"1.5", group.Force{Invalid: `"1.5"`}},
		"nothing is invalid":                 {"", group.Force{Invalid: `""`}},
		"a line break is shown":              {"1\nlevel=info", group.Force{Invalid: `"1\nlevel=info"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := contract.Force(map[string]string{contract.ForceAnnotation: tc.text}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if got := contract.Force(nil); got != (group.Force{}) {
		t.Errorf("without the annotation: got %v", got)
	}
}

func TestABudgetReadsAsItIsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		read := contract.MaxUnavailable(map[string]string{contract.MaxUnavailableAnnotation: rapid.String().Draw(t, "text")})
		again := contract.MaxUnavailable(map[string]string{contract.MaxUnavailableAnnotation: read.String()})
		if read.Invalid == "" && read != again {
			t.Fatalf("%#v prints as %q, which reads as %#v", read, read.String(), again)
		}
	})
}

func TestEveryWordStandsOnThePageOnce(t *testing.T) {
	for _, w := range contract.Words() {
		if n := strings.Count(contract.Markdown(), "\n| `"+w.Name+"` |"); n != 1 {
			t.Errorf("%s, which %s writes, has %d rows", w.Name, w.Writer, n)
		}
	}
}

func TestGeneratedContractIsUpToDate(t *testing.T) {
	const file = "../../docs/contract.md"
	if *update {
		if err := os.WriteFile(file, []byte(contract.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contract.Markdown(), string(committed)); diff != "" {
		t.Errorf("docs/contract.md is out of date, run make generate (-want +got):\n%s", diff)
	}
}
