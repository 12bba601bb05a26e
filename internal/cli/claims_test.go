package cli

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestClaimsOfAnEndedIdentityAreDeleted(t *testing.T) {
	withPool(t, func(s *scene) {
		s.in = "gone\n"
		before := s.server.everything()
		out := s.succeeds("claims", "stc/db", "--delete", "gone")
		for _, part := range []string{"persistentvolumeclaim/db-data-gone of identity gone, which ended 0s ago: ScaledDown\n", "type the identity again:\n", "persistentvolumeclaim/db-data-gone deleted\n"} {
			if !strings.Contains(out, part) {
				s.Errorf("%q is not in\n%s", part, out)
			}
		}
		after := s.server.everything()
		if after[claimsOfAPool+"db-data-gone"] != nil || len(after) != len(before)-1 {
			s.Errorf("%d of %d objects are left", len(after), len(before))
		}
	})
}

// Each situation is one in which no claim may be deleted. The user types the identity again where the command asks for it.
func TestClaimsAreKept(t *testing.T) {
	const claim = claimsOfAPool + "db-data-gone"
	during := func(change func(*scene)) func(*scene) {
		return func(s *scene) {
			reads := 0
			s.server.refuse = func(r *http.Request) *http.Response {
				if strings.HasSuffix(r.URL.Path, "/persistentvolumeclaims") {
					if reads++; reads == 2 { // after the question
						change(s)
					}
				}
				return nil
			}
		}
	}
	podNamed := func(s *scene) {
		s.server.put(podsPath+"db-gone", object{"metadata": object{"name": "db-gone", "namespace": "team"}})
	}
	for sentence, tc := range map[string]struct {
		id, typed string
		given     func(*scene)
		says      string
	}{
		"the identity has a pod":             {"a", "a", nil, "accepted: gone"},
		"no claim has the identity":          {"x", "x", nil, "accepted: gone"},
		"the identity is empty":              {"", "", nil, "accepted: gone"},
		"the user types another identity":    {"gone", "a", nil, "nothing is deleted"},
		"the user types nothing":             {"gone", "", nil, "nothing is deleted"},
		"a person wants to keep it":          {"gone", "gone", func(s *scene) { s.marks(contract.KeepAnnotation, "true") }, "lockstep.dev/keep=true"},
		"it has not ended":                   {"gone", "gone", func(s *scene) { s.marks(contract.RetiredAtAnnotation, nil) }, "none, because no ended identity has claims"},
		"the time of its end cannot be read": {"gone", "gone", func(s *scene) { s.marks(contract.RetiredAtAnnotation, "soon") }, "none, because"},
		"it belongs to an earlier object": {"gone", "gone", func(s *scene) {
			s.merges(claim, object{"metadata": object{"labels": object{contract.PoolUIDLabel: "v"}}})
		}, "none, because"},
		"it is being deleted": {"gone", "gone", func(s *scene) {
			s.merges(claim, object{"metadata": object{"deletionTimestamp": "2000-01-01T00:00:00Z"}})
		}, "being deleted already"},
		"a pod without labels has its name":        {"gone", "gone", podNamed, "pod team/db-gone exists, so its claims stay"},
		"it changes after the question":            {"gone", "gone", during(func(s *scene) { s.marks("x", "y") }), "have changed meanwhile"},
		"a person wants to keep it later":          {"gone", "gone", during(func(s *scene) { s.marks(contract.KeepAnnotation, "true") }), "lockstep.dev/keep=true"},
		"a pod appears after the question":         {"gone", "gone", during(podNamed), "exists, so its claims stay"},
		"it changes right before it is deleted":    {"gone", "gone", beforeTheDelete(func(s *scene) { s.marks("x", "y") }), "delete claim team/db-data-gone"},
		"it is created again before it is deleted": {"gone", "gone", beforeTheDelete(func(s *scene) { s.merges(claim, object{"metadata": object{"uid": "v"}}) }), "delete claim team/db-data-gone"},
	} {
		t.Run(sentence, func(t *testing.T) {
			withPool(t, func(s *scene) {
				if tc.given != nil {
					tc.given(s)
				}
				s.in = tc.typed + "\n"
				code, out, errs := s.types("claims", "stc/db", "--delete", tc.id)
				if code != exitFailed || !strings.Contains(errs, tc.says) {
					s.Errorf("exit code %d: %s%s", code, out, errs)
				}
				for _, id := range []string{"a", "b", "gone"} {
					if s.server.get(claimsOfAPool+"db-data-"+id) == nil {
						s.Errorf("the claim of %s is deleted", id)
					}
				}
			})
		})
	}
}

// marks sets an annotation of the claim of the ended identity, or removes it.
func (s *scene) marks(key string, value any) {
	s.merges(claimsOfAPool+"db-data-gone", object{"metadata": object{"annotations": object{key: value}}})
}

func beforeTheDelete(change func(*scene)) func(*scene) {
	return func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.Method == http.MethodDelete {
				change(s)
			}
			return nil
		}
	}
}

func TestClaimsShowTheirState(t *testing.T) {
	withPool(t, func(s *scene) {
		s.merges(claimsOfAPool+"db-data-b", object{"metadata": object{"deletionTimestamp": "2000-01-01T00:00:00Z"}})
		for name, uid := range map[string]string{"earlier": "v", "waiting": "u"} {
			s.server.put(claimsOfAPool+"db-data-"+name, object{"metadata": object{"name": "db-data-" + name, "namespace": "team", "labels": object{
				contract.PoolLabel: "db", contract.InstanceIDLabel: name, contract.ClaimLabel: "data", contract.PoolUIDLabel: uid,
			}}})
		}
		var got []string
		for line := range strings.Lines(s.succeeds("claims", "stc/db")) {
			if fields := strings.Fields(line); len(fields) > 2 {
				got = append(got, fields[0]+" "+fields[2])
			}
		}
		if want := []string{"IDENTITY STATE", "a InUse", "b Deleting", "earlier OfEarlier", "waiting Waits", "gone Spent"}; !slices.Equal(got, want) {
			s.Errorf("got %q, want %q", got, want)
		}
		s.marks(contract.RetiredAtAnnotation, nil)
		if out := s.succeeds("claims", "stc/db", "--spent"); out != "team/db has no such claims\n" {
			s.Errorf("it says %q", out)
		}
	})
}
