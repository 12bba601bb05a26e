package groups_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
)

// lineOf reconciles a group for a while and returns the last log line about it.
func lineOf(t *testing.T, w *world, rounds int) *logrus.Entry {
	t.Helper()
	c, lines := newController(w)
	for range rounds {
		_, _ = c.Reconcile(t.Context(), store)
		time.Sleep(time.Second)
		w.cached.Now, w.live.Now = time.Now(), time.Now()
	}
	if lines.LastEntry() == nil {
		t.Fatal("no log line")
	}
	return lines.LastEntry()
}

// Every reason in an Event is also in a log line.
func TestEveryReportedReasonIsLogged(t *testing.T) {
	forbidden := apierrors.NewForbidden(pods, "zone-a-0", errors.New("a policy's own text"))
	for sentence, tc := range map[string]struct {
		world  world
		cached string
		field  string
		want   string
	}{
		"a wait":                                    {cached: starting, field: "plan", want: "wait zone-a because PodStarting zone-a-0"},
		"an error that a person can correct":        {cached: "zone-a rev=2 budget=lots\n zone-a-0 ready@2\n", field: "remarks", want: "zone-a InvalidMaxUnavailable ("},
		"a request that fails":                      {world: world{runFails: forbidden}, cached: rolling + outdated, field: "plan", want: "wait zone-a because RequestForbidden (Forbidden)"},
		"a live read that fails":                    {world: world{lookFails: forbidden}, cached: outdated, field: "plan", want: "wait zone-a because RequestForbidden (Forbidden)"},
		"no line in a namespace without permission": {cached: settled, field: "remarks", want: ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := tc.world
				w.cached, w.live = today(tc.cached), today("live\n"+tc.cached)
				fields := lineOf(t, &w, 4).Data
				if got := fmt.Sprint(fields[tc.field]); !strings.Contains(got, tc.want) || (tc.want == "") != (fields[tc.field] == nil) {
					t.Errorf("%s is %q, want %q", tc.field, got, tc.want)
				}
			})
		})
	}
}

// The executor carries out nothing, as in a dry run.
func TestDryRunLogsWhatItWouldWrite(t *testing.T) {
	two, one := " zone-a-0 ready@1 zone-a-1 ready@1\n", " zone-a-0 ready@1\n"
	for sentence, tc := range map[string]struct{ zones, plan, said string }{
		"a pod that is deleted":        {outdated, "delete zone-a-0", "would step"},
		"a follower that is scaled up": {"zone-a rev=1\n" + two + "zone-b rev=1 leader=zone-a\n zone-b-0 ready@1\n", "set zone-b from 1 to 2", "would step"},
		"a follower that is scaled down": {"zone-a rev=1\n" + one + "zone-b rev=1 leader=zone-a\n zone-b-0 ready@1 zone-b-1 ready@1\n",
			"record zone-b from 2 to 1", "would step"},
		"no line for a follower that waits": {starting, "wait zone-a", "reconciled"},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{cached: today(tc.zones), live: today("live\n" + tc.zones)}
				line := lineOf(t, &w, 1)
				if planned := fmt.Sprint(line.Data["plan"]); line.Message != tc.said || !strings.Contains(planned, tc.plan) {
					t.Errorf("%q of the plan %q, want %q of one with %q", line.Message, planned, tc.said, tc.plan)
				}
			})
		})
	}
}

func TestMaliciousNamesAreEscapedInTheLog(t *testing.T) {
	for _, text := range fuzzcorpus.Texts() {
		synctest.Test(t, func(t *testing.T) {
			w := world{cached: today("zone-a rev=2 current=1\n zone-a-0 ready@1\n")}
			w.cached.Hold = group.Hold{Hold: plan.Hold{Exists: true, Holder: plan.Holder("downscale/" + text)}, Part: group.Part{Downscale: group.Downscale{Zone: text, UID: text, From: 2, To: 1, Stage: group.Stage(text)}}}
			w.cached.Zones[0].UpdateRevision, w.cached.Zones[0].MaxUnavailable.Invalid = text, text
			w.live = w.cached
			w.live.Live = true
			for field, said := range lineOf(t, &w, 1).Data {
				shown := fmt.Sprint(said)
				if len(shown) > 10_000 || !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%.20q: %s has %d bytes: %.80q", text, field, len(shown), shown)
				}
			}
		})
	}
}
