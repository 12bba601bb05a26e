package operator

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// respondent gives the same response to every request, and records the requests.
type respondent struct {
	answer    func() *http.Response
	requested []string
}

func (r *respondent) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	r.requested = append(r.requested, q.Method+" "+q.URL.RequestURI()+" "+string(body))
	return r.answer(), nil
}

func refusal(code int32, why metav1.StatusReason, message string) func() *http.Response {
	return func() *http.Response {
		return apitest.Answer(int(code), &metav1.Status{Status: metav1.StatusFailure, Reason: why, Code: code, Message: message})
	}
}

// tried returns a trial in a cluster with two webhooks and a StatefulSet that both guard.
func tried(t *testing.T, server http.RoundTripper) trial {
	t.Helper()
	return trial{
		client: apitest.Client(t, server),
		hooks: func(kind cabundle.Kind, path string) []cabundle.Hook {
			switch {
			case kind == cabundle.Validating && path == admission.NoDownscalePath:
				return []cabundle.Hook{{Key: cabundle.Key{Kind: kind, Name: "no"}, Name: "no.lockstep.dev"}}
			case kind == cabundle.Mutating && path == admission.PrepareDownscalePath:
				return []cabundle.Hook{{Key: cabundle.Key{Kind: kind, Name: "prepare"}, Name: "prepare.lockstep.dev"}}
			}
			return nil
		},
		guarded: func(string) (triedSet, bool) { return triedSet{"team", "zone-a", 3}, true },
	}
}

func TestATrialIsADryRunOfADownscaleThatWouldBeRefused(t *testing.T) {
	server := &respondent{answer: refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no")}
	tried(t, server).run(t.Context())
	const set = "PATCH /apis/apps/v1/namespaces/team/statefulsets/zone-a?dryRun=All "
	want := []string{set + `{"spec":{"replicas":2}}`, set + `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":2}}`}
	if !slices.Equal(server.requested, want) {
		t.Errorf("got %q, want %q", server.requested, want)
	}
}

func TestATrialNeedsAWebhookAndAStatefulSet(t *testing.T) {
	server := &respondent{answer: refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no")}
	without := tried(t, server)
	without.hooks = func(cabundle.Kind, string) []cabundle.Hook { return nil }
	empty := tried(t, server)
	empty.guarded = func(string) (triedSet, bool) { return triedSet{}, false }
	if got := append(without.run(t.Context()), empty.run(t.Context())...); got != nil || server.requested != nil {
		t.Errorf("found %v, requests %q", got, server.requested)
	}
}

func TestATrialFindsWhetherAWebhookCanBeCalled(t *testing.T) {
	uncalled := func(webhook string) func() *http.Response {
		return refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, `failed calling webhook "`+webhook+`": no endpoints`)
	}
	for sentence, tc := range map[string]struct {
		answer func() *http.Response
		want   string
	}{
		"no-downscale refuses": {
			refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.lockstep.dev" denied the request: it may not shrink`), "",
		},
		"prepare-downscale refuses": {
			refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "prepare.lockstep.dev" denied the request: it has moved on`), "",
		},
		"a policy refuses":                              {refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "ValidatingAdmissionPolicy x denied it"), ""},
		"no webhook refuses":                            {func() *http.Response { return apitest.Answer(http.StatusOK, &appsv1.StatefulSet{}) }, ""},
		"it is old, and that":                           {refusal(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified"), ""},
		"a webhook of another program cannot be called": {uncalled("other"), ""},
		"prepare-downscale cannot be called":            {uncalled("prepare.lockstep.dev"), "prepare.lockstep.dev"},
		"no-downscale cannot be called":                 {uncalled("no.lockstep.dev"), "no.lockstep.dev"},
	} {
		t.Run(sentence, func(t *testing.T) {
			found := tried(t, &respondent{answer: tc.answer}).run(t.Context())
			switch {
			case tc.want == "" && len(found) == 0:
			case len(found) != 1 || found[0].Kind != cabundle.FaultUnreachable || found[0].Webhook != tc.want || !strings.Contains(found[0].What, "no endpoints"):
				t.Errorf("got %+v, want that %q cannot be called", found, tc.want)
			}
		})
	}
}
