package monitoring_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// caller asks the operator's webhooks as an API server does.
type caller struct {
	*scene
	address string
	client  *http.Client
	asked   int
}

func (s *scene) caller() *caller {
	s.Helper()
	return &caller{scene: s, address: s.webhooks(), client: &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}},
	}}
}

// askAll asks every webhook something, most of it as a dry run.
func (c *caller) askAll() {
	c.Helper()
	set := func(replicas int) object {
		return object{
			"apiVersion": "apps/v1", "kind": "StatefulSet",
			"metadata": object{"name": zones[0], "namespace": namespace, "labels": object{"rollout-group": group, "grafana.com/no-downscale": "true"}},
			"spec":     object{"replicas": replicas},
		}
	}
	sets := object{"group": "apps", "version": "v1", "resource": "statefulsets"}
	kind := object{"group": "apps", "version": "v1", "kind": "StatefulSet"}
	for _, webhook := range []string{"no-downscale", "prepare-downscale"} {
		c.ask(webhook, object{
			"kind": kind, "resource": sets, "requestKind": kind, "requestResource": sets, "name": zones[0], "operation": "UPDATE", "oldObject": set(podsEach), "object": set(podsEach - 1),
		})
	}
	pods, evicts := object{"group": "", "version": "v1", "resource": "pods"}, object{"group": "policy", "version": "v1", "kind": "Eviction"}
	for _, webhook := range []string{"pod-eviction-pin", "pod-eviction"} {
		c.ask(webhook, object{
			"kind": evicts, "resource": pods, "requestKind": evicts, "requestResource": pods, "subResource": "eviction", "requestSubResource": "eviction",
			"name": zones[0] + "-0", "operation": "CREATE",
			"object": object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": zones[0] + "-0", "namespace": namespace}},
		})
	}
	budgets := object{"group": "rollout-operator.grafana.com", "version": "v1", "resource": "zoneawarepoddisruptionbudgets"}
	budget := object{"group": "rollout-operator.grafana.com", "version": "v1", "kind": "ZoneAwarePodDisruptionBudget"}
	c.ask("zpdb-validation", object{
		"kind": budget, "resource": budgets, "requestKind": budget, "requestResource": budgets, "name": "b", "operation": "CREATE",
		"object": object{
			"apiVersion": "rollout-operator.grafana.com/v1", "kind": "ZoneAwarePodDisruptionBudget", "metadata": object{"name": "b", "namespace": namespace},
			"spec": object{"selector": object{"matchLabels": object{"rollout-group": group}}, "maxUnavailable": 1},
		},
	})
}

type object map[string]any

// shrink asks whether a zone may lose a pod, and returns why not.
func (c *caller) shrink(zone string) (refusal string) {
	c.Helper()
	before, err := c.admin.AppsV1().StatefulSets(namespace).Get(c.Context(), zone, metav1.GetOptions{})
	c.must(err)
	before.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}
	after := before.DeepCopy()
	*after.Spec.Replicas--
	sets, kind := object{"group": "apps", "version": "v1", "resource": "statefulsets"}, object{"group": "apps", "version": "v1", "kind": "StatefulSet"}
	return c.ask("prepare-downscale", object{
		"kind": kind, "resource": sets, "requestKind": kind, "requestResource": sets, "name": zone, "operation": "UPDATE", "oldObject": before, "object": after,
	})
}

// ask asks one thing, as a dry run, and returns why it is refused.
func (c *caller) ask(webhook string, request object) (refusal string) {
	c.Helper()
	c.asked++
	request["uid"], request["namespace"], request["dryRun"] = fmt.Sprint("review-", c.asked), namespace, true
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
