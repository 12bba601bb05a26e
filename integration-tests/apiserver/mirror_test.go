package apiserver_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

const mirrorAnnotation = "grafana.com/rollout-mirror-replicas-from-resource-"

var (
	templates   = schema.GroupVersionResource{Group: "rollout-operator.grafana.com", Version: "v1", Resource: "replicatemplates"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// mirrors makes a zone take its replicas from a ReplicaTemplate.
func mirrors(name string) option {
	return mirrorsKind("ReplicaTemplate", "rollout-operator.grafana.com/v1", name)
}

func mirrorsKind(kind, version, name string) option {
	return func(s *appsv1.StatefulSet) {
		for key, value := range map[string]string{"name": name, "kind": kind, "api-version": version} {
			set(&s.Annotations, mirrorAnnotation+key, value)
		}
	}
}

// resources returns a client for a kind in the scene's namespace.
func (s *scene) resources(kind schema.GroupVersionResource) dynamic.ResourceInterface {
	s.t.Helper()
	client, err := dynamic.NewForConfig(s.world.cluster.AdminConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	if kind == definitions {
		return client.Resource(kind)
	}
	return client.Resource(kind).Namespace(s.name)
}

// template creates a ReplicaTemplate with a number of replicas.
func (s *scene) template(name string, replicas int64) {
	s.t.Helper()
	s.dial(templates, "ReplicaTemplate", name, replicas)
}

// dial creates a resource with spec.replicas, which may be any value.
func (s *scene) dial(kind schema.GroupVersionResource, kindName, name string, replicas any) {
	s.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": kindName, "metadata": map[string]any{"name": name}, "spec": map[string]any{"replicas": replicas},
	}}
	if replicas == nil {
		object.Object["spec"] = map[string]any{}
	}
	s.eventually(kindName+" "+name+" is made", func(present) error { // its CRD may be new
		_, err := s.resources(kind).Create(s.t.Context(), object, createOptions)
		return err
	})
}

// setsReplicas changes the replicas of a ReplicaTemplate.
func (s *scene) setsReplicas(name string, replicas int64) {
	s.t.Helper()
	s.turn(templates, name, strconv.FormatInt(replicas, 10))
}

// turn sets the replicas of a resource to this JSON text.
func (s *scene) turn(kind schema.GroupVersionResource, name, replicas string) {
	s.t.Helper()
	body := []byte(`{"spec":{"replicas":` + replicas + `}}`)
	if _, err := s.resources(kind).Patch(s.t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// awaitReport waits until the status of a resource has this number of replicas.
func (s *scene) awaitReport(kind schema.GroupVersionResource, name string, want int64) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s has a status of %d replicas", name, want), func(present) error {
		object, err := s.resources(kind).Get(s.t.Context(), name, getOptions)
		if err != nil {
			return err
		}
		if got, _, err := unstructured.NestedInt64(object.Object, "status", "replicas"); err != nil || got != want {
			return fmt.Errorf("its status is %d (%w)", got, err)
		}
		return nil
	})
}

func TestZonesMirrorAResourceUpAndDown(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.template("web", 2)
		s.create(zone("zone-a", 2, mirrors("web")), zone("zone-b", 2, mirrors("web")), zone("zone-c", 2, follows("zone-b")))
		s.awaitReport(templates, "web", 2)
		for _, n := range []int32{4, 1, 3} {
			s.setsReplicas("web", int64(n))
			s.sized(map[string]int32{"zone-a": n, "zone-b": n, "zone-c": n})
			s.awaitReport(templates, "web", int64(n))
		}
		s.awaitEvent("Normal", "ReferenceMirrored", "zone-a")
	})
}

func TestADeletedResourceIsNamedAndFollowedOnceItIsCreatedAgain(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.create(zone("zone-a", 2, mirrors("web")), zone("zone-b", 1), zone("zone-c", 1, follows("zone-b")))
	s.awaitWaiting("ReferenceMissing", "zone-a")
	s.change("zone-b", forced("2"))
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 2, "zone-c": 2})
	for _, n := range []int32{3, 1} {
		s.template("web", int64(n))
		s.sized(map[string]int32{"zone-a": n})
		s.awaitReport(templates, "web", int64(n))
		if err := s.resources(templates).Delete(t.Context(), "web", deleteOptions); err != nil {
			t.Fatal(err)
		}
		s.awaitWaiting("ReferenceMissing", "zone-a")
	}
	s.sized(map[string]int32{"zone-a": 1})
}

func TestTheSmallestZoneIsWrittenBackOfAllGroups(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.template("web", 3)
	s.create(
		zone("zone-a", 3, mirrors("web")), zone("zone-b", 3, mirrors("web"), forced("2")),
		zone("zone-x", 3, inGroup("other"), mirrors("web"), forced("1")),
		zone("zone-y", 3, inGroup("third"), mirrors("web"), setAnnotated(mirrorAnnotation+"write-back", "false"), forced("0")),
	)
	s.sized(map[string]int32{"zone-a": 3, "zone-b": 2, "zone-x": 1, "zone-y": 0})
	s.awaitReport(templates, "web", 1)
	s.change("zone-x", forced(""))
	s.awaitReport(templates, "web", 2)
	s.change("zone-b", forced(""))
	s.awaitReport(templates, "web", 3)
}

func TestAManualScaleOfAMirrorIsOverruledOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.template("web", 2)
		s.create(zone("zone-a", 2), zone("zone-b", 2, mirrors("web")))
		s.isOverruledOnce("zone-b")
	})
}

// dials is a kind that does not exist at first.
var dials = schema.GroupVersionResource{Group: "mirror.example.com", Version: "v1", Resource: "dials"}

const (
	dialDefinition = "testdata/dials.yaml"       // the CRD, which accepts every number
	dialRights     = "testdata/dial-rights.yaml" // an aggregated ClusterRole
)

// ofDials reports whether a request is about a kind that is forbidden until a test grants it.
func ofDials(r judge.Request) bool { return strings.HasPrefix(r.Resource, dials.Resource) }

func mirrorsDial(name string) option { return mirrorsKind("Dial", dials.GroupVersion().String(), name) }

func TestAKindThatIsCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.patience = longPatience
	s.create(zone("zone-a", 2, mirrorsDial("volume")), zone("zone-b", 2))
	s.awaitWaiting("ReferenceKindUnknown", "zone-a")
	s.apply(dialDefinition)
	s.dial(dials, "Dial", "volume", int64(3))
	s.awaitWaiting("ReferenceForbidden", "zone-a")
	s.apply(dialRights)
	s.sized(map[string]int32{"zone-a": 3})
	s.awaitReport(dials, "volume", 3)

	// The API server itself rejects negative numbers. Between two invalid values the zone gets a
	// valid one, so that each invalid value is observed.
	size := int32(3)
	for odd, why := range map[string]string{"null": "ReferenceUnreadable", "2000000000": "ReplicasOutOfRange"} {
		s.turn(dials, "volume", odd)
		s.awaitWaiting(why, "zone-a")
		s.sized(map[string]int32{"zone-a": size})
		size++
		s.turn(dials, "volume", strconv.Itoa(int(size)))
		s.sized(map[string]int32{"zone-a": size})
	}

	if err := s.resources(definitions).Delete(t.Context(), "dials.mirror.example.com", deleteOptions); err != nil {
		t.Fatal(err)
	}
	s.awaitWaiting("ReferenceKindUnknown", "zone-a")
	s.eventually("the kind is deleted", func(present) error {
		if _, err := s.resources(definitions).Get(t.Context(), "dials.mirror.example.com", getOptions); !apierrors.IsNotFound(err) {
			return errors.New("it is still there")
		}
		return nil
	})
	s.apply(dialDefinition)
	s.dial(dials, "Dial", "volume", int64(1))
	s.sized(map[string]int32{"zone-a": 1})
}

// apply applies manifests of objects without a namespace.
func (s *scene) apply(files ...string) {
	s.t.Helper()
	if err := s.world.cluster.Apply(s.t.Context(), files...); err != nil {
		s.t.Fatal(err)
	}
}
