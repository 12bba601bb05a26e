package contract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestEveryMisspelledNameIsReported(t *testing.T) {
	for _, w := range forUsers(true) {
		domain, name, has := strings.Cut(w.Name, "/")
		if !has {
			domain, name = "", w.Name
		}
		in := func(domain, name string) string { return strings.TrimPrefix(domain+"/"+name, "/") }
		spellings := map[string]string{
			"in capital letters":     strings.ToUpper(w.Name),
			"in another case":        in(domain, strings.ToUpper(name[:1])+name[1:]),
			"with underscores":       in(domain, strings.ReplaceAll(name, "-", "_")),
			"without a letter":       in(domain, name[:3]+name[4:]),
			"with one letter more":   in(domain, name+"s"),
			"with two letters apart": in(domain, name[:2]+"xy"+name[4:]),
			"with another domain":    in("lockstep.dev", name),
			"without a domain":       name,
		}
		if domain != "" {
			spellings["with a domain that is nearly right"] = in(domain[:1]+domain[2:], name)
		}
		if domain == "lockstep.dev" {
			spellings["with another domain"] = in("grafana.com", name)
		}
		for how, key := range spellings {
			if key == w.Name || isWord(key) {
				continue
			}
			for _, place := range places[:2] {
				got := contract.WithoutEffect(written(place, key, "true"))
				if !strings.HasPrefix(got, place+" "+key+" has no effect: did you mean ") || !strings.Contains(got, w.As+" "+w.Name) {
					t.Errorf("%s %s, %s: got %q", place, key, how, got)
				}
			}
		}
	}
}

// isWord reports whether a name is a word of the contract, in any place.
func isWord(name string) bool {
	return slices.ContainsFunc(contract.Words(), func(w contract.Word) bool { return w.Name == name })
}

func TestNamesOfOthersAreLeftAlone(t *testing.T) {
	for _, key := range []string{
		"app", "name", "group", "zone", "app.kubernetes.io/name", "app.kubernetes.io/part-of", "helm.sh/chart", "meta.helm.sh/release-name",
		"kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id", "rollout-id", "rollout-strategy", "paused",
		"example.com/no-downscale", "example.com/rollout-group", "autoscaling.example.com/prepare-downscale", "rollouts.example.com/rollout-paused",
		"grafana.com/team", "grafana.com/owner", "grafana.com/rollout-notes", "lockstep.dev/team", "grafana.com/downscale", "deployment.kubernetes.io/revision",
	} {
		for _, place := range places {
			if got := contract.WithoutEffect(written(place, key, "x")); got != "" {
				t.Errorf("%s %s: %s", place, key, got)
			}
		}
	}
	for _, w := range contract.Words() {
		for _, place := range places {
			if got := contract.WithoutEffect(written(place, w.Name, "x")); strings.Contains(got, "did you mean") {
				t.Errorf("%s %s: %s", place, w.Name, got)
			}
		}
	}
}

func TestAWordThatIsThereIsNotMeantByAnotherName(t *testing.T) {
	m := contract.Metadata{Annotations: map[string]string{contract.MaxUnavailableAnnotation: "2", "rollout-max-unavailabel": "3"}}
	if got := contract.WithoutEffect(m); got != "" {
		t.Errorf("got %q", got)
	}
}
