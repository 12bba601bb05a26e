package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// wait is what a zone waits for, in the operator's own words.
type wait struct {
	code string // of docs/reasons.md
	pod  string // that stands in the way; may be empty, as may be the zone
	zone string // another one
	more string // what the operator adds
}

// waits is what the operator's last plan for one namespace's group waits for.
type waits struct {
	namespace string
	zones     map[string]wait
}

const askInterval = 150 * time.Millisecond

// askForWaits asks the operator again and again what the group waits for, until ctx
// ends. No answer leaves the last one standing.
func askForWaits(ctx context.Context, operator, namespace, group string, answers chan<- waits) {
	ticker := time.NewTicker(askInterval)
	defer ticker.Stop()
	for {
		if zones, err := lastPlan(ctx, operator, namespace, group); err == nil {
			select {
			case answers <- waits{namespace, zones}:
			case <-ctx.Done():
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func lastPlan(ctx context.Context, operator, namespace, group string) (map[string]wait, error) {
	address := operator + "/debug/groups/" + url.PathEscape(namespace) + "/" + url.PathEscape(group)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask operator: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask operator: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask operator: %s answers %s", address, response.Status)
	}
	var record struct {
		Plan []string `json:"plan"`
	}
	if err := json.NewDecoder(response.Body).Decode(&record); err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", address, err)
	}
	return waitsOf(record.Plan), nil
}

// waitsOf reads the lines of a plan that wait: "wait zone-b because
// NotItsTurn zone-a".
func waitsOf(plan []string) map[string]wait {
	zones := map[string]wait{}
	for _, line := range plan {
		rest, ok := strings.CutPrefix(line, "wait ")
		if !ok {
			continue
		}
		zone, because, ok := strings.Cut(rest, " because ")
		if !ok {
			continue
		}
		zones[zone] = waitOf(because)
	}
	return zones
}

// waitOf reads "GroupHeld zone-a-3 of zone-a (rollout/zone-a)", of which all but the
// code may be missing. A single name is a pod's if the code is about one.
func waitOf(because string) wait {
	var w wait
	because, w.more, _ = strings.Cut(because, " (")
	w.more = strings.TrimSuffix(w.more, ")")
	w.code, because, _ = strings.Cut(because, " ")
	var both bool
	if w.pod, w.zone, both = strings.Cut(because, " of "); !both && w.onOthers() {
		w.pod, w.zone = "", because
	}
	return w
}

// sentences say the reasons that a rollout without trouble gives. %s is the zone
// that stands in the way, else the pod; where there is none, the zone itself waits.
var sentences = map[string]string{
	"PodMissing":           "%s is missing",
	"PodStarting":          "%s is starting",
	"PodTerminating":       "%s is leaving",
	"PodDisruptionPending": "%s is about to leave",
	"PodFailing":           "%s cannot run",
	"OtherZoneUnavailable": "%s is not whole",
	"NotItsTurn":           "%s comes first",
	"GroupHeld":            "%s holds the group",
	"StatusBehind":         "its status is behind",
}

// String is a short sentence where there is one, else the operator's words.
func (w wait) String() string {
	sentence, known := sentences[w.code]
	subject := cmp.Or(w.zone, w.pod)
	switch {
	case known && !strings.Contains(sentence, "%s"):
		return sentence
	case known && subject != "":
		return fmt.Sprintf(sentence, subject)
	}
	return strings.Join(strings.Fields(w.code+" "+w.pod+" "+w.zone+" "+w.more), " ")
}

// onOthers reports whether another zone is waited for, rather than an own pod on its
// way.
func (w wait) onOthers() bool { return !strings.HasPrefix(w.code, "Pod") }
