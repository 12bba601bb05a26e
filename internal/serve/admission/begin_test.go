package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

func TestBeginIsCalledWithTheNamespaceOfTheReview(t *testing.T) {
	var steps []string
	h := admission.New(admission.Options{
		PrepareDownscale: &judge{breaks: true}, Log: silent(),
		Begin: func(namespace, webhook string) func() {
			steps = append(steps, "begin "+namespace+" "+webhook)
			return func() { steps = append(steps, "end") }
		},
		Observe: func(o admission.Observation) { steps = append(steps, "observe "+o.Namespace) },
	})
	post(t, h, preparePath, []byte("{}"))
	if len(steps) != 1 || steps[0] != "observe " {
		t.Errorf("an invalid review: %q", steps)
	}
	steps = nil
	post(t, h, preparePath, update(t, scale(3), scale(2))) // the judge panics
	want := []string{"begin team prepare-downscale", "end", "observe team"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("a review (-want +got):\n%s", diff)
	}
}
