package monitoring_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// caller calls the operator's webhooks like an API server.
type caller struct {
	*scene
	address string
	client  *http.Client
	reviews int
}

func (s *scene) caller() *caller {
	s.Helper()
	return &caller{scene: s, address: s.webhooks(), client: &http.Client{
		Timeout:   patience,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}},
	}}
}

// sendAll sends a dry run to every webhook, and an invalid review to one of them.
func (c *caller) sendAll() {
	c.Helper()
	c.sendInvalidReview()
	set := func(replicas int) object {
		return object{
			"apiVersion": "apps/v1", "kind": "StatefulSet",
			"metadata": object{"name": zones[0], "namespace": namespace, "labels": object{"rollout-group": group, "grafana.com/no-downscale": "true"}},
			"spec":     object{"replicas": replicas},
		}
	}
	for _, webhook := range []string{"no-downscale", "prepare-downscale"} {
		c.send(webhook, updateOf(zones[0], set(podsEach), set(podsEach-1)))
	}
	for _, webhook := range []string{"pod-eviction-pin", "pod-eviction"} {
		c.send(webhook, evictionOf(zones[0]+"-0", ""))
	}
	budgets := object{"group": "rollout-operator.grafana.com", "version": "v1", "resource": "zoneawarepoddisruptionbudgets"}
	budget := object{"group": "rollout-operator.grafana.com", "version": "v1", "kind": "ZoneAwarePodDisruptionBudget"}
	c.send("zpdb-validation", object{
		"kind": budget, "resource": budgets, "requestKind": budget, "requestResource": budgets, "name": "b", "operation": "CREATE",
		"object": object{
			"apiVersion": "rollout-operator.grafana.com/v1", "kind": "ZoneAwarePodDisruptionBudget", "metadata": object{"name": "b", "namespace": namespace},
			"spec": object{"selector": object{"matchLabels": object{"rollout-group": group}}, "maxUnavailable": 1},
		},
	})
}

type object map[string]any

// updateOf returns a review of an update of a StatefulSet.
func updateOf(zone string, before, after any) object {
	sets, kind := object{"group": "apps", "version": "v1", "resource": "statefulsets"}, object{"group": "apps", "version": "v1", "kind": "StatefulSet"}
	return object{
		"kind": kind, "resource": sets, "requestKind": kind, "requestResource": sets, "name": zone, "operation": "UPDATE", "oldObject": before, "object": after,
	}
}

// evictionOf returns a review of an eviction, bound to the pod with that UID if it is set.
func evictionOf(pod, uid string) object {
	pods, evicts := object{"group": "", "version": "v1", "resource": "pods"}, object{"group": "policy", "version": "v1", "kind": "Eviction"}
	eviction := object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": pod, "namespace": namespace}}
	if uid != "" {
		eviction["deleteOptions"] = object{"preconditions": object{"uid": uid}}
	}
	return object{
		"kind": evicts, "resource": pods, "requestKind": evicts, "requestResource": pods, "subResource": "eviction", "requestSubResource": "eviction",
		"name": pod, "operation": "CREATE", "object": eviction,
	}
}

// scaleDown requests a downscale of a zone by one pod, and returns the reason of its
// refusal.
func (c *caller) scaleDown(zone string) (refusal string) {
	c.Helper()
	before, after := c.scaledDown(zone)
	return c.send("prepare-downscale", updateOf(zone, before, after))
}

// scaledDown returns a zone as it is, and with one pod less.
func (c *caller) scaledDown(zone string) (before, after *appsv1.StatefulSet) {
	c.Helper()
	before, err := c.admin.AppsV1().StatefulSets(namespace).Get(c.Context(), zone, metav1.GetOptions{})
	c.must(err)
	before.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}
	after = before.DeepCopy()
	*after.Spec.Replicas--
	return before, after
}

// send sends one request, as a dry run by default, and returns the reason of its refusal.
func (c *caller) send(webhook string, request object) (refusal string) {
	c.Helper()
	c.reviews++
	request["uid"], request["namespace"] = fmt.Sprint("review-", c.reviews), namespace
	if _, said := request["dryRun"]; !said {
		request["dryRun"] = true
	}
	text, err := json.Marshal(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	c.must(err)
	q, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.address+"/admission/"+webhook+"?timeout=10s", bytes.NewReader(text))
	c.must(err)
	q.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(q)
	c.must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	c.must(err)
	if answer.StatusCode != http.StatusOK {
		c.Fatalf("%s: %s: %.300s", webhook, answer.Status, body)
	}
	var review struct {
		Response struct {
			Allowed bool
			Status  struct{ Message string }
		}
	}
	c.must(json.Unmarshal(body, &review))
	if review.Response.Allowed {
		return ""
	}
	return review.Response.Status.Message
}
