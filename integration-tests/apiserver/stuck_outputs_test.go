package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// names returns the wait that every output must contain for a stuck case.
func (p stuckCase) names(code string) reportedWait {
	return reportedWait{Zone: p.zone, Code: code, Pod: p.pod}
}

// first returns the wait that comes before all others in the stuck case.
func (p stuckCase) first(code string) reportedWait {
	if p.from != (reportedWait{}) {
		return p.from
	}
	return p.names(code)
}

// in reports whether a text contains code, zone and pod.
func (s reportedWait) in(text string) bool {
	return strings.Contains(text, s.Code) && strings.Contains(text, s.Zone) && strings.Contains(text, s.Pod)
}

// logs waits until a line of the log contains code, zone and pod.
func (s *scene) logs(code string, p stuckCase) {
	s.t.Helper()
	want := strings.TrimSpace(fmt.Sprintf("wait %s because %s %s", p.zone, code, p.pod))
	if p.remark {
		want = fmt.Sprintf("%s %s", p.zone, code)
	}
	s.eventually("the log contains: "+want, func(present) error {
		for line := range strings.Lines(s.operator.Logs()) {
			if strings.Contains(line, `"`+s.name+`"`) && strings.Contains(line, want) {
				return nil
			}
		}
		return errors.New("no line contains that")
	})
}

// hasEvent waits for an Event that also names the pod. The Event of a wait that is usually
// short comes after a minute.
func (s *scene) hasEvent(code string, p stuckCase) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("an Event %s on %s names %q", code, p.zone, p.pod), func(present) error {
		list, err := s.world.admin.EventsV1().Events(s.name).List(s.t.Context(), listOptions)
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			if e.Reason == code && e.Regarding.Name == p.zone && strings.Contains(e.Note, p.pod) {
				return nil
			}
			seen = append(seen, fmt.Sprintf("%s on %s: %s", e.Reason, e.Regarding.Name, e.Note))
		}
		return fmt.Errorf("there is %q", seen)
	})
}

// shownGroup is the part of a RolloutGroup that describes waits.
type shownGroup struct {
	Status struct {
		Waiting    struct{ Reason, Zone, Pod string }
		Zones      []struct{ Name, Reason, Message string }
		Conditions []metav1.Condition
	}
}

// showsStuckCase waits until the RolloutGroup contains code, zone and pod.
func (s *scene) showsStuckCase(code string, p stuckCase) {
	s.t.Helper()
	kinds := documentedReasons(s.t)
	s.eventually(fmt.Sprintf("the RolloutGroup names %+v", p.names(code)), func(present) error {
		o, err := s.resources(rolloutGroups).Get(s.t.Context(), defaultGroup, getOptions)
		if err != nil {
			return err
		}
		text, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		var shown shownGroup
		if err := json.Unmarshal(text, &shown); err != nil {
			return err
		}
		if err := shown.describes(code, p, kinds); err != nil {
			return fmt.Errorf("%w: %+v", err, shown.Status)
		}
		return nil
	})
}

// describes returns an error if the RolloutGroup does not describe a stuck case completely.
func (g shownGroup) describes(code string, p stuckCase, kinds map[string]string) error {
	if p.remark {
		if ready := g.condition("Ready"); !p.names(code).in(ready.Message) {
			return errors.New("its condition Ready does not contain it")
		}
		return nil
	}
	shown := func(z struct{ Name, Reason, Message string }) bool {
		return z.Name == p.zone && z.Reason == code && strings.Contains(z.Message, p.pod)
	}
	if !slices.ContainsFunc(g.Status.Zones, shown) {
		return errors.New("its zone has another reason")
	}
	first := p.first(code)
	if w := g.Status.Waiting; (reportedWait{w.Zone, w.Reason, w.Pod}) != first {
		return fmt.Errorf("it waits for something else, %+v was wanted", first)
	}
	for _, kind := range []string{"Ready", "Reconciling", "Stalled"} {
		if c := g.condition(kind); c.Reason != first.Code || !strings.Contains(c.Message, first.Zone) || !strings.Contains(c.Message, first.Pod) {
			return fmt.Errorf("its condition %s does not name %+v", kind, first)
		}
	}
	stalled := kinds[first.Code] == "needs a person" && first.Code != "Paused"
	if (g.condition("Stalled").Status == metav1.ConditionTrue) != stalled {
		return fmt.Errorf("stalled should be %t", stalled)
	}
	return nil
}

func (g shownGroup) condition(kind string) metav1.Condition {
	for _, c := range g.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// isShown waits until kubectl lockstep why contains code, zone and pod, both in JSON and in text.
func (p person) isShown(code string, of stuckCase) {
	p.scene.t.Helper()
	wait, first, exit := of.names(code), of.first(code), 2
	if of.remark {
		exit = 0
	}
	p.scene.eventually(fmt.Sprintf("kubectl lockstep why names %+v", wait), func(present) error {
		got, out, errs := p.types("why", defaultGroup, "-o", "json")
		var why struct{ Waits, Remarks []reportedWait }
		if got != exit || errs != "" || json.Unmarshal([]byte(out), &why) != nil {
			return fmt.Errorf("exit code %d, want %d\n%s%s", got, exit, out, errs)
		}
		shown := why.Waits
		if of.remark {
			shown = why.Remarks
		}
		if !slices.Contains(shown, wait) || shown[0] != first {
			return fmt.Errorf("it shows %+v, and %+v was to be first", shown, first)
		}
		text := strings.TrimSpace(wait.Zone + " " + wait.Code + " " + wait.Pod)
		if _, out, _ := p.types("why", defaultGroup); !strings.Contains(out, "\n"+text) {
			return fmt.Errorf("no line begins with %q\n%s", text, out)
		}
		return nil
	})
}
