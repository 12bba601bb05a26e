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

// waitReason is why a zone waits, as the operator reports it.
type waitReason struct {
	code   string // of docs/reasons.md
	pod    string // the pod that the zone waits for; pod and zone may be empty
	zone   string // another zone
	detail string // additional text of the operator
}

// groupWaits is what the zones wait for in the operator's last plan of a group.
type groupWaits struct {
	namespace string
	zones     map[string]waitReason
}

const pollInterval = 150 * time.Millisecond

// pollWaits polls the operator's last plan of a group until ctx ends. After a failed request, the
// previous answer remains valid.
func pollWaits(ctx context.Context, operator, namespace, group string, answers chan<- groupWaits) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if zones, err := lastPlan(ctx, operator, namespace, group); err == nil {
			select {
			case answers <- groupWaits{namespace, zones}:
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

func lastPlan(ctx context.Context, operator, namespace, group string) (map[string]waitReason, error) {
	address := operator + "/debug/groups/" + url.PathEscape(namespace) + "/" + url.PathEscape(group)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("read the plan of the operator: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the plan of the operator: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the plan of the operator: %s answers %s", address, response.Status)
	}
	var record struct {
		Plan []string `json:"plan"`
	}
	if err := json.NewDecoder(response.Body).Decode(&record); err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", address, err)
	}
	return parseWaits(record.Plan), nil
}

// parseWaits parses the waits of a plan: "wait zone-b because NotItsTurn zone-a".
func parseWaits(plan []string) map[string]waitReason {
	zones := map[string]waitReason{}
	for _, line := range plan {
		rest, ok := strings.CutPrefix(line, "wait ")
		if !ok {
			continue
		}
		zone, because, ok := strings.Cut(rest, " because ")
		if !ok {
			continue
		}
		zones[zone] = parseWait(because)
	}
	return zones
}

// parseWait parses "GroupHeld zone-a-3 of zone-a (rollout/zone-a)". All but the code may be missing. A
// single name is a pod if the code is about a pod.
func parseWait(because string) waitReason {
	var w waitReason
	because, w.detail, _ = strings.Cut(because, " (")
	w.detail = strings.TrimSuffix(w.detail, ")")
	w.code, because, _ = strings.Cut(because, " ")
	var both bool
	if w.pod, w.zone, both = strings.Cut(because, " of "); !both && w.isOtherZone() {
		w.pod, w.zone = "", because
	}
	return w
}

// sentences are texts for the reasons of an undisturbed rollout. %s is the zone, or else the pod, that
// the zone waits for.
var sentences = map[string]string{
	"PodMissing":           "%s is missing",
	"PodStarting":          "%s is starting",
	"PodTerminating":       "%s terminates",
	"PodDisruptionPending": "%s is about to be deleted",
	"PodFailing":           "%s cannot run",
	"OtherZoneUnavailable": "%s not available",
	"NotItsTurn":           "%s comes first",
	"GroupHeld":            "%s holds the group",
	"StatusBehind":         "its status is behind",
}

// String returns a short sentence if there is one, or else the operator's words.
func (w waitReason) String() string {
	sentence, known := sentences[w.code]
	subject := cmp.Or(w.zone, w.pod)
	switch {
	case known && !strings.Contains(sentence, "%s"):
		return sentence
	case known && subject != "":
		return fmt.Sprintf(sentence, subject)
	}
	return strings.Join(strings.Fields(w.code+" "+w.pod+" "+w.zone+" "+w.detail), " ")
}

// isOtherZone reports whether the zone waits for another zone, and not for its own pod.
func (w waitReason) isOtherZone() bool { return !strings.HasPrefix(w.code, "Pod") }
