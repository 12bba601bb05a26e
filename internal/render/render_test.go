package render_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/render"
)

var key = plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}

const id = pool.ID("0123456789abcdef")

var object = &pool.Object{UID: "u", Labels: map[string]string{"app": "db"}}

// birth returns a pod to create from a template and claim templates.
func birth(template string, claims ...pool.ClaimTemplate) render.Birth {
	return render.Birth{ID: id, Revision: "db-1", Templates: pool.Templates{Pod: []byte(template), Claims: claims}}
}

func following(b render.Birth, uid string) render.Birth {
	b.From = uid
	return b
}

var data = pool.ClaimTemplate{Name: "data", Template: []byte(`{"metadata": {"name": "data", "creationTimestamp": null}, "spec": {"new": [1]}, "status": {}}`)}

func TestAPodIsItsTemplateWithAnIdentity(t *testing.T) {
	const tolerations = `[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}, {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}]`
	const metadata = `"metadata": {"name": "db-0123456789abcdef", "namespace": "team",
		"labels": {"app": "db", "lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef", "controller-revision-hash": "db-1"},
		"ownerReferences": [{"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "name": "db", "uid": "u", "controller": true}]}`
	for sentence, tc := range map[string]struct {
		birth render.Birth
		want  string
	}{
		"without claims it has no gate": {
			birth(`{"spec": {"containers": [{"name": "c", "image": "i"}]}}`),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"containers": [{"name": "c", "image": "i"}], "hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `}}`,
		},
		"with claims it has a gate, and a volume for each": {
			birth(`{"spec": {}}`, data),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `, "schedulingGates": [{"name": "lockstep.dev/claims"}],
			    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "db-data-0123456789abcdef"}}]}}`,
		},
		"a claim template wins over a volume of its name, and other volumes stay": {
			birth(`{"spec": {"volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]}}`, data),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `, "schedulingGates": [{"name": "lockstep.dev/claims"}],
			    "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "data", "persistentVolumeClaim": {"claimName": "db-data-0123456789abcdef"}}]}}`,
		},
		"the next pod of an identity names the one before": {
			following(birth(`{"metadata": {"annotations": {"a": "b"}}, "spec": {}}`), "uid-1"),
			`{"apiVersion": "v1", "kind": "Pod", ` + strings.Replace(metadata, `"ownerReferences"`, `"annotations": {"a": "b", "lockstep.dev/handover-from": "uid-1"}, "ownerReferences"`, 1) + `,
			  "spec": {"hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `}}`,
		},
		"what only lockstep may say is removed from a template": {
			birth(`{"metadata": {"annotations": {"lockstep.dev/handover-from": "x", "lockstep.dev/inplace-update": "{}", "lockstep.dev/withdrawn": "9"}}, "spec": {}}`),
			`{"apiVersion": "v1", "kind": "Pod", ` + strings.Replace(metadata, `"ownerReferences"`, `"annotations": {}, "ownerReferences"`, 1) + `,
			  "spec": {"hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `}}`,
		},
		"a pod with a node has no gate, because the API server refuses both": {
			birth(`{"spec": {"nodeName": "n"}}`, data),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"nodeName": "n", "hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `,
			    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "db-data-0123456789abcdef"}}]}}`,
		},
		"its own tolerations, host name and unknown fields stay, and not what an API server wrote into it": {
			birth(`{"metadata": {"creationTimestamp": null, "resourceVersion": "7", "uid": "u", "generation": 3, "managedFields": [], "ownerReferences": []}, "spec": {"hostname": "h", "future": {"a": 1}, "tolerations": [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 5}, {"key": "node.kubernetes.io/unreachable"}]}}`),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"hostname": "h", "future": {"a": 1}, "tolerations": [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 5}, {"key": "node.kubernetes.io/unreachable"}]}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := render.Pod(key, object, tc.birth)
			if err != nil {
				t.Fatal(err)
			}
			same(t, tc.want, got)
		})
	}
}

func TestAPodHasTheGateForUpdatesInPlaceOnce(t *testing.T) {
	object := &pool.Object{Strategy: pool.Strategy{Grace: time.Second}}
	for _, template := range []string{`{"spec": {}}`, `{"spec": {"readinessGates": [{"conditionType": "lockstep.dev/InPlaceUpdateReady"}]}}`} {
		pod, err := render.Pod(key, object, render.Birth{ID: "a", Templates: pool.Templates{Pod: []byte(template)}})
		if err != nil || strings.Count(string(pod), "lockstep.dev/InPlaceUpdateReady") != 1 {
			t.Errorf("error %v, pod %s", err, pod)
		}
	}
}

func TestAClaimIsItsTemplateWithAnIdentity(t *testing.T) {
	got, err := render.Claim(key, object, data, pool.CompletePod{ID: id, From: "uid-1", Siblings: []string{"data", "logs"}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "db-data-0123456789abcdef", "namespace": "team",
		"labels": {"app": "db", "lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef", "lockstep.dev/claim": "data", "lockstep.dev/pool-uid": "u"},
		"annotations": {"lockstep.dev/claim-templates": "data,logs", "lockstep.dev/handover-from": "uid-1"}},
		"spec": {"new": [1]}}`, got)
}

// Only lockstep says that an identity has ended, or from which pod it was handed over.
func TestATemplateCannotSayWhatOnlyLockstepSays(t *testing.T) {
	own := pool.ClaimTemplate{Name: "data", Template: []byte(`{"metadata": {"annotations": {"lockstep.dev/retired-at": "2026-01-05T12:00:00Z",
		"lockstep.dev/retired-reason": "ScaledDown", "lockstep.dev/handover-from": "uid-1", "lockstep.dev/keep": "true"}}}`)}
	got, err := render.Claim(key, object, own, pool.CompletePod{ID: id, Siblings: []string{"data"}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "db-data-0123456789abcdef", "namespace": "team",
		"labels": {"app": "db", "lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef", "lockstep.dev/claim": "data", "lockstep.dev/pool-uid": "u"},
		"annotations": {"lockstep.dev/claim-templates": "data", "lockstep.dev/keep": "true"}}}`, got)
}

// A pod that said that it is to be replaced would be replaced by another one that says so, without end.
func TestATemplateSaysNothingThatOnlyOneObjectMaySay(t *testing.T) {
	for sentence, own := range map[string]string{
		"the pod before":         contract.HandoverAnnotation,
		"an update in place":     contract.InPlaceUpdateAnnotation,
		"the other claims":       contract.SiblingsAnnotation,
		"the end of an identity": contract.RetiredAtAnnotation,
		"the reason of an end":   contract.RetiredReasonAnnotation,
		"that it is to leave":    contract.SpecifiedDeleteLabel,
		"the storage":            contract.StorageAnnotation,
		"a withdrawn deletion":   contract.WithdrawnAnnotation,
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, field := range []string{"labels", "annotations"} {
				template := `{"metadata": {"` + field + `": {"` + own + `": "of-a-template", "stays": "yes"}}, "spec": {}}`
				pod, ofPod := render.Pod(key, object, birth(template))
				claim, ofClaim := render.Claim(key, object, pool.ClaimTemplate{Name: "data", Template: []byte(template)}, pool.CompletePod{ID: id, Siblings: []string{"data"}})
				if err := errors.Join(ofPod, ofClaim); err != nil {
					t.Fatal(err)
				}
				for _, made := range [][]byte{pod, claim} {
					if strings.Contains(string(made), "of-a-template") || !strings.Contains(string(made), `"stays":"yes"`) {
						t.Errorf("%s of a template: got %s", field, made)
					}
				}
			}
		})
	}
}

// What a template says about storage counts only as its request.
func TestAClaimSaysForHowMuchStorageItWasCreated(t *testing.T) {
	for sentence, tc := range map[string]struct {
		storage pool.Storage
		want    string
	}{
		"as much as the template requests": {pool.Storage{Text: "2Gi", Bytes: 2 << 30}, `"lockstep.dev/claim-templates": "data", "lockstep.dev/storage": "2Gi"`},
		"the template requests none":       {pool.Storage{}, `"lockstep.dev/claim-templates": "data"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			own := pool.ClaimTemplate{Name: "data", Storage: tc.storage, Template: []byte(`{"metadata": {"labels": {"lockstep.dev/storage": "9Gi"}, "annotations": {"lockstep.dev/storage": "9Gi"}}}`)}
			got, err := render.Claim(key, object, own, pool.CompletePod{ID: id, Siblings: []string{"data"}})
			if err != nil {
				t.Fatal(err)
			}
			same(t, `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "db-data-0123456789abcdef", "namespace": "team",
				"labels": {"app": "db", "lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef", "lockstep.dev/claim": "data", "lockstep.dev/pool-uid": "u"},
				"annotations": {`+tc.want+`}}}`, got)
		})
	}
}

// A pod or a claim that said that it belongs to another StatefulCluster would be lost.
func TestLabelsOfLockstepWinOverThoseOfATemplateAndOfTheSelector(t *testing.T) {
	const others = `{"app": "other", "tier": "x", "lockstep.dev/statefulcluster": "other", "lockstep.dev/instance-id": "other", "controller-revision-hash": "other", "lockstep.dev/claim": "other", "lockstep.dev/pool-uid": "other"}`
	from := &pool.Object{UID: "u", Labels: map[string]string{"app": "db", "lockstep.dev/instance-id": "selected"}}
	labels := func(text []byte, err error) map[string]string {
		t.Helper()
		var decoded struct {
			Metadata struct{ Labels map[string]string }
		}
		if err := errors.Join(err, json.Unmarshal(text, &decoded)); err != nil {
			t.Fatal(err)
		}
		return decoded.Metadata.Labels
	}
	want := map[string]string{
		"app": "db", "tier": "x", "lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef", "controller-revision-hash": "db-1",
		"lockstep.dev/claim": "other", "lockstep.dev/pool-uid": "other", // which mean nothing on a pod
	}
	if diff := cmp.Diff(want, labels(render.Pod(key, from, birth(`{"metadata": {"labels": `+others+`}}`)))); diff != "" {
		t.Errorf("a pod (-want +got):\n%s", diff)
	}
	want["lockstep.dev/claim"], want["lockstep.dev/pool-uid"], want["controller-revision-hash"] = "data", "u", "other"
	claim := pool.ClaimTemplate{Name: "data", Template: []byte(`{"metadata": {"labels": ` + others + `}}`)}
	if diff := cmp.Diff(want, labels(render.Claim(key, from, claim, pool.CompletePod{ID: id}))); diff != "" {
		t.Errorf("a claim (-want +got):\n%s", diff)
	}
}

func TestAClaimBelongsToTheObjectIfItGoesWithIt(t *testing.T) {
	for _, goes := range []bool{false, true} {
		from := &pool.Object{UID: "u", Claim: pool.ClaimPolicy{DeleteWithObject: goes}}
		got, err := render.Claim(key, from, data, pool.CompletePod{ID: id})
		if err != nil || strings.Contains(string(got), `"ownerReferences":[{"apiVersion":"lockstep.dev/v1alpha1","controller":true,"kind":"StatefulCluster","name":"db","uid":"u"}]`) != goes {
			t.Errorf("it goes with the object: %t; error %v, claim %s", goes, err, got)
		}
	}
}

func TestATemplateThatIsNoObjectIsAnError(t *testing.T) {
	if _, err := render.Pod(key, object, birth(`[]`)); err == nil {
		t.Error("a pod was made of a list")
	}
	if _, err := render.Claim(key, object, pool.ClaimTemplate{Name: "data", Template: []byte(`1`)}, pool.CompletePod{ID: id}); err == nil {
		t.Error("a claim was made of a number")
	}
}

// same compares two JSON texts.
func same(t *testing.T, want string, got []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The API server refuses a pod whose host name is longer than 63 characters or contains dots.
func TestOnlyANameThatCanBeAHostNameIsOne(t *testing.T) {
	for adopted, want := range map[pool.ID]bool{
		"0": true, "a.b": false, pool.ID(strings.Repeat("a", 63-len("db-"))): true, pool.ID(strings.Repeat("a", 64-len("db-"))): false,
	} {
		b := birth(`{"spec": {}}`)
		b.ID = adopted
		got, err := render.Pod(key, object, b)
		if has := strings.Contains(string(got), `"hostname":`); err != nil || has != want {
			t.Errorf("the pod of %s is %s: %v", adopted, got, err)
		}
	}
}
