package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func TestPhaseOfAPod(t *testing.T) {
	for sentence, tc := range map[string]struct {
		pod  change[*corev1.Pod]
		want string
	}{
		"a Ready pod that runs is ready":                        {func(*corev1.Pod) {}, "ready"},
		"a terminating pod is Terminating, even if it is Ready": {terminating, "terminating"},
		"a terminating pod that crashes is Terminating":         {func(p *corev1.Pod) { notReady(waits("CrashLoopBackOff"))(p); terminating(p) }, "terminating"},
		"a pod without conditions starts":                       {func(p *corev1.Pod) { p.Status.Conditions = nil }, "starting"},
		"a pod whose readiness is unknown is Starting":          {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionUnknown }, "starting"},
		"a pod without a node is Starting":                      {func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }, "starting"},
		"a pod without any status starts":                       {func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }, "starting"},
		"a stale Ready of a pod that failed":                    {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "failing PodFailed"},
		"a pod that was evicted fails":                          {func(p *corev1.Pod) { notReady()(p); p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }, "failing PodFailed"},
		"a pod that succeeded is not ready":                     {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "starting"},
		"a pod on a lost node is not ready":                     {func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }, "starting"},
		"a pod that is being created starts":                    {notReady(waits("ContainerCreating")), "starting"},
		"a pod that initialises starts":                         {notReady(waits("PodInitializing")), "starting"},
		"a container that just crashed restarts":                {notReady(crashed), "starting"},
		"a crash loop fails":                                    {notReady(waits("CrashLoopBackOff")), "failing CrashLoopBackOff"},
		"an image that can't be pulled fails":                   {notReady(waits("ImagePullBackOff")), "failing ImagePullBackOff"},
		"an image that was not pulled fails":                    {notReady(waits("ErrImagePull")), "failing ErrImagePull"},
		"a name that is no image fails":                         {notReady(waits("InvalidImageName")), "failing InvalidImageName"},
		"a missing ConfigMap fails":                             {notReady(waits("CreateContainerConfigError")), "failing CreateContainerConfigError"},
		"a container that can't be created fails":               {notReady(waits("CreateContainerError")), "failing CreateContainerError"},
		"one failing container of several fails":                {notReady(runs, waits("CrashLoopBackOff")), "failing CrashLoopBackOff"},
		"a failing init container fails":                        {notReadyInit(waits("CrashLoopBackOff")), "failing CrashLoopBackOff"},
		"a failing sidecar next to a running one":               {notReadyInit(runs, waits("ImagePullBackOff")), "failing ImagePullBackOff"},
		"a reason that a tenant made up":                        {notReady(waits("Rm -rf\n\x1b[31m")), "starting"},
		"a Ready pod with a container that waits": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: waits("CrashLoopBackOff")}}
		}, "ready"},
		"a readiness gate that is not open starts": {gated(corev1.ConditionFalse), "starting"},
		"a readiness gate that is open":            {gated(corev1.ConditionTrue), "ready"},
	} {
		t.Run(sentence, func(t *testing.T) {
			phase, since, why := phaseOf(newPod("zone-a", 0, tc.pod))
			got := phase.String()
			if why != "" {
				got += " " + why
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if ready := phase == plan.Ready; ready != !since.IsZero() || (ready && !since.Equal(noon.Time)) {
				t.Errorf("%s since %s", phase, since)
			}
		})
	}
}

// gated returns a change to a pod whose containers are ready. The kubelet computes Ready from
// them and from the gate.
func gated(gate corev1.ConditionStatus) change[*corev1.Pod] {
	return func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/traffic"}}
		p.Status.Conditions[0].Status = gate
		p.Status.Conditions = append([]corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))},
			{Type: "example.com/traffic", Status: gate, LastTransitionTime: noon},
		}, p.Status.Conditions...)
	}
}

func TestMembershipOfAPod(t *testing.T) {
	owner := func(changes ...change[*metav1.OwnerReference]) metav1.OwnerReference {
		ref := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "zone-a", UID: "uid-of-zone-a", Controller: new(true)}
		for _, c := range changes {
			c(&ref)
		}
		return ref
	}
	named := func(name string) change[*corev1.Pod] { return func(p *corev1.Pod) { p.Name = name } }
	for sentence, tc := range map[string]struct {
		pod     change[*corev1.Pod]
		want    string
		ordinal int
	}{
		"the controlling StatefulSet":            {ownedBy(owner()), "uid-of-zone-a", 3},
		"other labels do not matter":             {func(p *corev1.Pod) { p.Labels = map[string]string{"set": "zone-b"} }, "uid-of-zone-a", 3},
		"no owner":                               {ownedBy(), "", 0},
		"an owner that does not control":         {ownedBy(owner(func(r *metav1.OwnerReference) { r.Controller = nil })), "", 0},
		"an owner that expressly does not":       {ownedBy(owner(func(r *metav1.OwnerReference) { r.Controller = new(false) })), "", 0},
		"the controlling owner of two":           {ownedBy(owner(func(r *metav1.OwnerReference) { r.Controller, r.UID = nil, "x" }), owner()), "uid-of-zone-a", 3},
		"another kind of controller":             {ownedBy(owner(func(r *metav1.OwnerReference) { r.Kind = "ReplicaSet" })), "", 0},
		"a StatefulSet of another API":           {ownedBy(owner(func(r *metav1.OwnerReference) { r.APIVersion = "apps.kruise.io/v1beta1" })), "", 0},
		"a name that the controller never gives": {named("zone-a-03"), "", 0},
		"a negative ordinal":                     {named("zone-a--3"), "", 0},
		"an ordinal that is too large":           {named("zone-a-4294967296"), "", 0},
		"a large ordinal":                        {named("zone-a-1048576"), "uid-of-zone-a", 1048576},
		"a name of another StatefulSet":          {named("zone-ab-3"), "", 0},
		"the bare name of the StatefulSet":       {named("zone-a"), "", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			set, ordinal, ok := memberOf(newPod("zone-a", 3, tc.pod))
			if ok != (tc.want != "") || (ok && (set != tc.want || ordinal != tc.ordinal)) {
				t.Errorf("got %q, %d, %t, want %q, %d", set, ordinal, ok, tc.want, tc.ordinal)
			}
		})
	}
}

func TestAPodIsConvertedCompletely(t *testing.T) {
	want := plan.Pod{
		Name: "zone-a-3", Ordinal: 3, UID: "uid-of-zone-a-3", Version: 9, Revision: "old",
		Phase: plan.Ready, ReadySince: noon.Time, Labels: plan.LabelsOf(map[string]string{"set": "zone-a"}),
	}
	if diff := cmp.Diff(want, PodOf(newPod("zone-a", 3), 3)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestZoneOfAStatefulSet(t *testing.T) {
	settled := group.Zone{
		Name: "zone-a", UID: "uid-of-zone-a", Version: 7, Selector: "set=zone-a", Generation: 3, Replicas: 2, UpdateRevision: "new", CurrentRevision: "old",
		Observed: true, OnDelete: true,
	}
	for sentence, tc := range map[string]struct {
		set  change[*appsv1.StatefulSet]
		want change[*group.Zone]
	}{
		"a settled one":                            {func(*appsv1.StatefulSet) {}, func(*group.Zone) {}},
		"default replicas":                         {func(s *appsv1.StatefulSet) { s.Spec.Replicas = nil }, func(z *group.Zone) { z.Replicas = 1 }},
		"scaled to zero on purpose":                {func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(0)) }, func(z *group.Zone) { z.Replicas = 0 }},
		"ordinals that start later":                {func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} }, func(z *group.Zone) { z.Start = 5 }},
		"minReadySeconds":                          {func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 30 }, func(z *group.Zone) { z.MinReady = 30 * time.Second }},
		"being deleted":                            {func(s *appsv1.StatefulSet) { s.DeletionTimestamp = &noon }, func(z *group.Zone) { z.Deleting = true }},
		"RollingUpdate":                            {func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType }, func(z *group.Zone) { z.OnDelete = false }},
		"no strategy at all":                       {func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = "" }, func(z *group.Zone) { z.OnDelete = false }},
		"a spec that no controller has observed":   {func(s *appsv1.StatefulSet) { s.Generation = 4 }, func(z *group.Zone) { z.Generation, z.Observed = 4, false }},
		"a status from the future":                 {func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration = 4 }, func(*group.Zone) {}},
		"no update revision yet":                   {func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "" }, func(z *group.Zone) { z.UpdateRevision, z.Observed = "", false }},
		"created this moment":                      {func(s *appsv1.StatefulSet) { s.Status = appsv1.StatefulSetStatus{} }, func(z *group.Zone) { z.UpdateRevision, z.CurrentRevision, z.Observed = "", "", false }},
		"a pod that is not counted as Ready yet":   {func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }, func(z *group.Zone) { z.Counting = true }},
		"a pod that is not counted as updated yet": {func(s *appsv1.StatefulSet) { s.Status.UpdatedReplicas = 1 }, func(z *group.Zone) { z.Counting = true }},
		"pods that the status need not count":      {func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas, s.Status.CurrentRevision = 0, "new" }, func(z *group.Zone) { z.CurrentRevision = "new" }},
		"paused for a while": {func(s *appsv1.StatefulSet) {
			s.Annotations = map[string]string{contract.PausedAnnotation: "true", contract.PausedUntilAnnotation: "2026-01-05T14:00:00+02:00"}
		}, func(z *group.Zone) {
			z.Paused, z.PausedUntil = true, plan.Moment{Time: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}
		}},
		"the end of no pause": {annotated(contract.PausedUntilAnnotation, "never"), func(z *group.Zone) {
			z.WithoutEffect = "annotation " + contract.PausedUntilAnnotation + " has no effect without " + contract.PausedAnnotation
		}},
		"paused":                         {annotated(contract.PausedAnnotation, "true"), func(z *group.Zone) { z.Paused = true }},
		"a number of pods at a time":     {annotated(contract.MaxUnavailableAnnotation, "3"), func(z *group.Zone) { z.MaxUnavailable.Pods = 3 }},
		"a percentage of pods at a time": {annotated(contract.MaxUnavailableAnnotation, "50%"), func(z *group.Zone) { z.MaxUnavailable.Percent = 50 }},
		"nonsense instead of a number":   {annotated(contract.MaxUnavailableAnnotation, "\n\x1b"), func(z *group.Zone) { z.MaxUnavailable.Invalid = `"\n\x1b"` }},
		"a leader":                       {annotated(contract.LeaderAnnotation, "zone-b"), func(z *group.Zone) { z.Leader = "zone-b" }},
		"a reference to mirror":          {mirrors("web"), func(z *group.Zone) { z.Mirror = group.Mirror{Reference: theWeb, WriteBack: true} }},
		"a leader of itself":             {annotated(contract.LeaderAnnotation, "zone-a"), func(*group.Zone) {}},
		"a leader that is waited for": {annotated(contract.AfterLeaderAnnotation, "true"), func(z *group.Zone) {
			z.AfterLeader, z.WithoutEffect = true, "annotation "+contract.AfterLeaderAnnotation+" has no effect without "+contract.LeaderAnnotation
		}},
		"replicas that are forced":        {annotated(contract.ForceAnnotation, "7"), func(z *group.Zone) { z.Forced = group.Force{Given: true, Replicas: 7} }},
		"nonsense that is forced":         {annotated(contract.ForceAnnotation, "many"), func(z *group.Zone) { z.Forced.Invalid = `"many"` }},
		"a label that forbids downscales": {func(s *appsv1.StatefulSet) { s.Labels[contract.NoDownscaleLabel] = "true" }, func(z *group.Zone) { z.Barred = true }},
		"a delay": {delayed("app"), func(z *group.Zone) {
			z.Delay = group.Delay{For: time.Hour, Call: group.Call{Port: 8080, Path: "/x", Service: "app"}}
		}},
		"a delay of pods without names": {delayed(""), func(z *group.Zone) { z.Delay.Invalid = noService }},
		"a missing part of a prepare call": {prepared("app", contract.PreparePortAnnotation, "80"), func(z *group.Zone) {
			lacks(z, contract.PreparePathAnnotation+" annotation")
			z.WithoutEffect = preparesNothingWithout(contract.PreparePathAnnotation)
		}},
		"all missing parts, in order": {prepared("", "x", "y"), func(z *group.Zone) {
			lacks(z, contract.PreparePortAnnotation+" annotation")
			z.WithoutEffect = preparesNothingWithout(contract.PreparePortAnnotation) + "; " + preparesNothingWithout(contract.PreparePathAnnotation)
		}},
		"pods without names that would be prepared": {func(s *appsv1.StatefulSet) {
			prepared("", contract.PreparePortAnnotation, "80")(s)
			s.Annotations[contract.PreparePathAnnotation] = "x"
		}, func(z *group.Zone) { lacks(z, "serviceName") }},
		"half a delay": {annotated(contract.DelayAnnotation, "1h"), func(z *group.Zone) {
			z.WithoutEffect = "annotation " + contract.DelayAnnotation + " has no effect without " + contract.DelayURLAnnotation
		}},
		"no annotations and labels at all": {func(s *appsv1.StatefulSet) { s.Annotations, s.Labels = nil, nil }, func(*group.Zone) {}},
		"a version that is no number":      {func(s *appsv1.StatefulSet) { s.ResourceVersion = "abc" }, func(z *group.Zone) { z.Version = 0 }},
	} {
		t.Run(sentence, func(t *testing.T) {
			want := settled
			tc.want(&want)
			got := zoneOf(newSet("zone-a", tc.set))
			if want.Call.Missing != "" {
				want.Call.Invalid = got.Call.Invalid // internal/contract words and tests it
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func delayed(service string) change[*appsv1.StatefulSet] {
	return func(s *appsv1.StatefulSet) {
		annotated(contract.DelayAnnotation, "1h")(s)
		annotated(contract.DelayURLAnnotation, "http://pod:8080/x")(s)
		s.Spec.ServiceName = service
	}
}

// prepared returns a change that requires pods to be prepared before their removal.
func prepared(service, annotation, value string) change[*appsv1.StatefulSet] {
	return func(s *appsv1.StatefulSet) {
		s.Labels[contract.PrepareDownscaleLabel] = "true"
		annotated(annotation, value)(s)
		s.Spec.ServiceName = service
	}
}

func lacks(z *group.Zone, missing string) { z.Prepares, z.Call.Missing = true, missing }

// messages contains the messages to one pod of each zone. It records which pods a snapshot
// contained.
type messages struct{ requested []string }

func (m *messages) Fill(s group.Snapshot) {
	for i, z := range s.Zones {
		m.requested = append(m.requested, s.Key.String()+"/"+z.Name+" with "+z.Pods[0].Name)
		s.Zones[i].Notifications = map[string]group.Notification{z.Pods[0].UID: {Message: group.Leave}}
	}
}

func TestCachedAndLiveSnapshotsShowNotificationsOfPods(t *testing.T) {
	notified := &messages{}
	server := newLibrary(newSet("zone-a", delayed("app")), newPod("zone-a", 0))
	o := newObserver(t, server.client(t))
	o.messages = notified
	show(o, newSet("zone-a", delayed("app")))
	show(o, newPod("zone-a", 0))
	live, err := o.Live(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	for how, s := range map[string]group.Snapshot{"cached": o.Cached(store), "live": live} {
		if got := s.Zones[0].Notifications["uid-of-zone-a-0"].Message; got != group.Leave {
			t.Errorf("%s: reported %q", how, got)
		}
	}
	if diff := cmp.Diff([]string{"team/store/zone-a with zone-a-0", "team/store/zone-a with zone-a-0"}, notified.requested); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if again := o.Cached(store); again.Zones[0].Notifications == nil {
		t.Error("read once")
	}
}

func TestAPodIsCalledAtAnAddressOfItsOwn(t *testing.T) {
	at := func(pod, host string) change[*corev1.Pod] {
		return func(p *corev1.Pod) { p.Status.PodIP, p.Status.HostIP = pod, host }
	}
	ended := func(phase corev1.PodPhase) change[*corev1.Pod] {
		return func(p *corev1.Pod) { at("10.0.0.1", "192.0.2.1")(p); p.Status.Phase = phase }
	}
	for sentence, tc := range map[string]struct {
		pod    change[*corev1.Pod]
		ip     string
		onHost bool
	}{
		"its own":                       {at("10.0.0.1", "192.0.2.1"), "10.0.0.1", false},
		"no address yet":                {at("", ""), "", false},
		"that of its node":              {at("192.0.2.1", "192.0.2.1"), "192.0.2.1", true},
		"that of its node, by its spec": {func(p *corev1.Pod) { p.Spec.HostNetwork = true; at("10.0.0.1", "")(p) }, "10.0.0.1", true},
		"an address before it runs":     {ended(corev1.PodPending), "", false},
		"an address of the time before its node was restarted": {func(p *corev1.Pod) {
			ended(corev1.PodPending)(p)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
		}, "10.0.0.1", false},
		"an address of the time before it failed": {ended(corev1.PodFailed), "", false},
		"an address until its end":                {ended(corev1.PodSucceeded), "", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if ip, onHost := addressOf(newPod("zone-a", 0, tc.pod)); ip != tc.ip || onHost != tc.onHost {
				t.Errorf("got %q, on its host %t, want %q, %t", ip, onHost, tc.ip, tc.onHost)
			}
		})
	}
}

// preparesNothingWithout is the remark about an incomplete configuration of calls to prepare.
func preparesNothingWithout(annotation string) string {
	return "label " + contract.PrepareDownscaleLabel + " requires annotation " + annotation + ": lockstep refuses downscales without it"
}
