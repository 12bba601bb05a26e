package cli

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestWatchUpdatesTimesOnATerminal(t *testing.T) {
	inScene(t, []string{strings.Replace(rolling, "until=2h", "until=1m", 1)}, func(s *scene) {
		s.style = onTerminal
		out := s.watches("status", "-w")
		time.Sleep(pollInterval / 2)
		for _, want := range []string{"for 6s", "for 16s"} {
			if !strings.Contains(screenOf(out), want) {
				s.Errorf("it does not say %q:\n%q", want, screenOf(out))
			}
			time.Sleep(10 * time.Second)
		}
		if got := screenOf(out); !strings.Contains(got, "Paused until") {
			s.Errorf("no pause is shown:\n%q", got)
		}
		time.Sleep(time.Minute)
		if got := screenOf(out); strings.Contains(got, "Paused until") {
			s.Errorf("a pause is shown that is over:\n%q", got)
		}
	})
}

func TestUnchangedPageIsNotDrawnAgain(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.style = onTerminal
		out := s.watches("status", "-w")
		time.Sleep(time.Hour)
		if drawn := strings.Count(out.String(), "\x1b[H"); drawn != 1 {
			s.Errorf("drawn %d times while nothing changed", drawn)
		}
		s.server.put("/apis/apps/v1/namespaces/team/statefulsets/zone-y", setOf(plan.Key{Namespace: "team", Name: "calm"}, fixture.NewZone("zone-y")))
		settleDown()
		if drawn := strings.Count(out.String(), "\x1b[H"); drawn != 2 || !strings.Contains(screenOf(out), "zone-y") {
			s.Errorf("drawn %d times after a change:\n%q", drawn, out.String())
		}
	})
}

func TestExpiredHoldIsPrintedWithoutATerminal(t *testing.T) {
	inScene(t, []string{"hold manual/upgrade renewed 5s ago\nzone-a rev=2 current=1\n zone-a-0 ready@1\n"}, func(s *scene) {
		out := s.watches("status", "-w")
		if got := out.String(); !strings.Contains(got, "GroupHeld") {
			s.Errorf("it says:\n%s", got)
		}
		before := len(out.String())
		time.Sleep(2 * time.Minute)
		if got := out.String()[before:]; !strings.Contains(got, "team/store zone-a") || strings.Contains(got, "GroupHeld") || strings.Count(got, "\n") > 2 {
			s.Errorf("after its end it says:\n%s", got)
		}
	})
}

func TestWatchReportsResourcesWithoutData(t *testing.T) {
	unauthorized := func(*http.Request) *http.Response {
		return apitest.Refusal(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	}
	for sentence, tc := range map[string]struct {
		refuse func(*http.Request) *http.Response
		broken error
		says   string
	}{
		"a token that has expired": {unauthorized, nil, "Unauthorized"},
		"a connection that broke":  {nil, errors.New("connection refused \x1b[2J"), `connection refused \x1b[2J`},
	} {
		for where, style := range map[string]bool{"on a terminal": true, "elsewhere": false} {
			t.Run(sentence+" "+where, func(t *testing.T) {
				inScene(t, []string{rolling}, func(s *scene) {
					if style {
						s.style = onTerminal
					}
					out := s.watches("status", "-w")
					time.Sleep(time.Minute)
					s.server.hangUp(tc.refuse)
					s.server.mu.Lock()
					s.server.broken = tc.broken
					s.server.mu.Unlock()
					time.Sleep(5 * time.Minute)
					got := screenOf(out)
					for _, part := range []string{"No data since 2000-01-01T00:01:0", " about leases, pods, statefulsets, zoneawarepoddisruptionbudgets: " + tc.says, "zone-c"} {
						if !strings.Contains(got, part) {
							s.Errorf("it does not say %q:\n%q", part, got)
						}
					}
					if printed := strings.Count(got, "No data since"); printed > 4 { // one more for each resource without data
						s.Errorf("printed %d times:\n%s", printed, got)
					}
					s.server.hangUp(nil)
					s.server.mu.Lock()
					s.server.broken = nil
					s.server.mu.Unlock()
					time.Sleep(5 * time.Minute)
					if got := screenOf(out); style && strings.Contains(got, "No data since") || !style && strings.Count(got, "Data arrives again.") != 1 {
						s.Errorf("it is still printed:\n%q", got)
					}
				})
			})
		}
	}
}

func TestPageIsCroppedToTheScreen(t *testing.T) {
	inScene(t, []string{rolling, settled}, func(s *scene) {
		s.style, s.rows = onTerminal, 6
		out := s.watches("status", "-w")
		if got := screenOf(out); strings.Count(got, "\n") != 5 || !strings.Contains(got, "team/calm") || !strings.Contains(got, "… 6 more lines") || strings.Contains(got, "zone-c") {
			s.Errorf("on 6 rows:\n%q", got)
		}
		s.rows = 30 // the window is enlarged
		settleDown()
		if got := screenOf(out); strings.Contains(got, "more lines") || !strings.Contains(got, "zone-c") {
			s.Errorf("on 30 rows:\n%q", got)
		}
	})
}

func TestWatchIncludesNewBudgets(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		c, err := connect(s.server.config(), "team", "test", func(text string) { s.Error(text) })
		if err != nil {
			s.Fatal(err)
		}
		changed := make(chan struct{}, 1)
		seen, end, err := c.watch(s.Context(), wanted{}, changed)
		if err != nil {
			s.Fatal(err)
		}
		defer end()
		settleDown()
		if got := seen.snapshots(wanted{})[0].Budgets; len(got) > 0 {
			s.Errorf("at first there are %+v", got)
		}
		select {
		case <-changed: // from the initial list
		default:
		}
		s.server.put("/apis/rollout-operator.grafana.com/v1/namespaces/team/zoneawarepoddisruptionbudgets/most", object{
			"kind": "ZoneAwarePodDisruptionBudget", "apiVersion": "rollout-operator.grafana.com/v1", "metadata": object{"name": "most", "namespace": "team"},
			"spec": object{"maxUnavailable": 2.0, "selector": object{"matchLabels": object{"zone": "zone-b"}}},
		})
		<-changed
		if got := seen.snapshots(wanted{})[0].Budgets; len(got) != 1 || got[0].Name != "most" {
			s.Errorf("then there are %+v", got)
		}
	})
}
