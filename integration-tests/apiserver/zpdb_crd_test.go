package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var budgets = schema.GroupVersionResource{Group: "rollout-operator.grafana.com", Version: "v1", Resource: "zoneawarepoddisruptionbudgets"}

// zpdb returns a budget with this spec in JSON.
func zpdb(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":"rollout-operator.grafana.com/v1","kind":"ZoneAwarePodDisruptionBudget","metadata":{"name":%q},"spec":%s}`, name, spec)
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return object
}

const store = `"selector":{"matchLabels":{"rollout-group":"store"}}`

func TestTheCRDOfBudgetsAcceptsTheBudgetsOfThePredecessor(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	for i, spec := range []string{
		`{` + store + `}`,
		`{"selector":{"matchLabels":{}}}`,
		`{` + store + `,"maxUnavailable":0}`,
		`{` + store + `,"maxUnavailablePercentage":100}`,
		`{` + store + `,"podNamePartitionRegex":"","podNameRegexGroup":3,"crossZoneEvictionDelay":""}`,
		`{` + store + `,"podNamePartitionRegex":"store-zone-[a-c]-([0-9]+)","crossZoneEvictionDelay":"1.5h"}`,
		`{` + store + `,"maxUnavailable":2,"podNamePartitionRegex":"(.*)-([0-9]+)","podNameRegexGroup":2,"crossZoneEvictionDelay":"10m30s"}`,
		`{` + store + `,"maxUnavailablePercentage":0,"podNamePartitionRegex":"store-zone-[a-c]-([0-9]+)"}`,
		`{` + store + `,"crossZoneEvictionDelay":"0s"}`,
		`{"selector":{"matchExpressions":[{"key":"rollout-group","operator":"In","values":["store"]},{"key":"x","operator":"DoesNotExist"}]},"unhealthyPodEvictionPolicy":"AlwaysAllow"}`,
	} {
		if _, err := s.resources(budgets).Create(t.Context(), zpdb(t, fmt.Sprint("taken-", i), spec), createOptions); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestTheCRDOfBudgetsRefusesInvalidFields(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	for spec, want := range map[string]string{
		`{}`:                                  "spec.selector: Required value",
		`{"selector":{}}`:                     "selector must have matchLabels",
		`{` + store + `,"maxUnavailable":-1}`: "spec.maxUnavailable",
		`{` + store + `,"maxUnavailable":0,"maxUnavailablePercentage":0}`:                      "mutually exclusive",
		`{` + store + `,"maxUnavailablePercentage":101}`:                                       "spec.maxUnavailablePercentage",
		`{` + store + `,"maxUnavailablePercentage":1,"podNamePartitionRegex":"x-([0-9]+)"}`:    "maxUnavailablePercentage counts pods of a zone",
		`{` + store + `,"podNamePartitionRegex":"x-([0-9]+)","podNameRegexGroup":0}`:           "spec.podNameRegexGroup",
		`{` + store + `,"podNamePartitionRegex":"` + strings.Repeat("x", 1025) + `"}`:          "spec.podNamePartitionRegex: Too long",
		`{` + store + `,"crossZoneEvictionDelay":"10m"}`:                                       "crossZoneEvictionDelay requires podNamePartitionRegex",
		`{` + store + `,"crossZoneEvictionDelay":"-10m","podNamePartitionRegex":"x-([0-9]+)"}`: "crossZoneEvictionDelay must be a duration",
		`{` + store + `,"crossZoneEvictionDelay":"1d","podNamePartitionRegex":"x-([0-9]+)"}`:   "crossZoneEvictionDelay must be a duration",
		`{` + store + `,"unhealthyPodEvictionPolicy":"Never"}`:                                 "spec.unhealthyPodEvictionPolicy",
		`{"selector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`:                      "values must be set with the operators",
		`{"selector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["1"]}]}}`:   "values must be set with the operators",
		`{"selector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}`:       "spec.selector.matchExpressions[0].operator",
	} {
		_, err := s.resources(budgets).Create(t.Context(), zpdb(t, "refused", spec), createOptions)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: got %v, want %q", spec, err, want)
		}
	}
}

func TestTheManifestsCallForABudgetWithAnotherSpec(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	r := newReceiver(t)
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(t, "zpdb-validation.yaml", &c)
	s.redirect(r, &c.Webhooks[0].ClientConfig, c.Webhooks[0].NamespaceSelector)
	c.ObjectMeta = metav1.ObjectMeta{Name: s.name + "-budgets"}
	hooks := s.world.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), &c, createOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(t.Context()), c.Name, deleteOptions); err != nil {
			t.Error(err)
		}
	})

	here := s.resources(budgets)
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	s.eventually("the API server calls", func(present) error {
		_, err := here.Create(t.Context(), zpdb(t, "dry", `{`+store+`}`), dryRun)
		if err == nil && len(r.taken()) == 0 {
			err = errors.New("not yet")
		}
		return err
	})
	r.taken()
	// The API server patches the object in its cache first, and then the stored one.
	settle := func(written *unstructured.Unstructured, err error) error {
		if err == nil {
			s.eventually("the API server's cache shows the written object", func(present) error {
				cached, err := here.Get(t.Context(), written.GetName(), metav1.GetOptions{ResourceVersion: "0"})
				if err == nil && cached.GetResourceVersion() != written.GetResourceVersion() {
					err = errors.New("not yet")
				}
				return err
			})
		}
		return err
	}
	patch := func(text string, subresource ...string) func() error {
		return func() error {
			patched, err := here.Patch(t.Context(), "store", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresource...)
			return settle(patched, err)
		}
	}
	called := []string{"zpdb-validation zoneawarepoddisruptionbudgets"}
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"a creation", func() error {
			return settle(here.Create(t.Context(), zpdb(t, "store", `{`+store+`}`), createOptions))
		}, called},
		{"another limit", patch(`{"spec":{"maxUnavailable":2}}`), called},
		{"the same limit and another label", patch(`{"metadata":{"labels":{"a":"b"}},"spec":{"maxUnavailable":2}}`), nil},
		{"another status", patch(`{"status":{"disruptionsAllowed":2}}`, "status"), nil},
		{"a deletion", func() error { return here.Delete(t.Context(), "store", deleteOptions) }, nil},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := r.taken(); !slices.Equal(got, step.want) {
			t.Errorf("%s: called for %q, want %q", step.name, got, step.want)
		}
	}
}
