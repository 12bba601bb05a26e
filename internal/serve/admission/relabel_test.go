package admission_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// unlabelled is a group whose Lease lost its label, so that no watch shows it.
type unlabelled struct{ onlyGroup }

func (u unlabelled) Cached(key plan.Key) group.Snapshot {
	s := u.onlyGroup.Cached(key)
	s.Hold = group.Hold{}
	return s
}

// In a group that has nothing to do, the leader makes no live read. So it sees the Lease only through
// the watch.
func TestRefusalRestoresTheLabelOfALease(t *testing.T) {
	now := atRest().Now
	recorded := fixture.IntentOf("zone-b-0")
	rolls := group.Hold{Hold: plan.Hold{Holder: plan.RolloutOperation.For("zone-b"), Intents: []plan.Intent{recorded}, Unlabelled: true}}
	damaged, labelled := rolls, rolls
	damaged.Unreadable, labelled.Unlabelled = "?", false
	for sentence, tc := range map[string]struct {
		record  group.Hold
		dryRun  bool
		managed bool
		want    bool
	}{
		"an operation is under way":  {rolls, false, true, true},
		"a downscale is recorded":    {group.Hold{Hold: plan.Hold{Holder: plan.DownscaleOperation.For("zone-b"), Unlabelled: true}, Part: group.Part{Downscale: fixture.Shrinking("zone-b", 3, 2, group.Admitted)}}, false, true, true},
		"a person holds the group":   {group.Hold{Hold: plan.Hold{Holder: "manual/maintenance", Renewed: now, Duration: time.Hour, Unlabelled: true}}, false, true, true},
		"the Lease cannot be read":   {damaged, false, true, true},
		"the Lease has its label":    {labelled, false, true, false},
		"the request is a dry run":   {rolls, true, true, false},
		"its namespace is opted out": {rolls, false, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			group, store := atRest(), &holdStore{}
			group.Hold = tc.record
			group.Hold.Exists, group.Hold.UID, group.Hold.Version = true, "lease", 3
			change := downscaleOfZoneA()
			change.DryRun = tc.dryRun
			holds := admission.Holds{Store: store, Managed: func(string) bool { return tc.managed }}
			webhook := &admission.PrepareDownscale{Observer: unlabelled{onlyGroup{group}}, Holds: holds, Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
			if v := webhook.Judge(t.Context(), change); v.Allowed {
				t.Errorf("got %+v", v)
			}
			if got := len(store.relabelled) > 0; got != tc.want || len(store.written) > 0 {
				t.Errorf("labelled: %t, written %d times; want %t and no write", got, len(store.written), tc.want)
			}
		})
	}
}

func TestLabelIsRestoredOnlyIfItIsMissingAndItsNamespaceIsStillManaged(t *testing.T) {
	labelled := func(labels map[string]string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "lockstep-group-store", UID: "u", ResourceVersion: "7", Labels: labels,
			Annotations: map[string]string{contract.NameAnnotation(""): "store"},
		}}
	}
	for sentence, tc := range map[string]struct {
		exists  []runtime.Object
		optsOut bool // while the Lease is read
		labels  int
		fails   bool
	}{
		"the label is missing":                        {[]runtime.Object{labelled(nil)}, false, 1, false},
		"the Lease has its label":                     {[]runtime.Object{labelled(map[string]string{contract.HoldLabel: contract.HoldLabelOf(plan.KindGroup)})}, false, 0, false},
		"there is no Lease":                           {nil, false, 0, false},
		"the namespace opts out during the live read": {[]runtime.Object{labelled(nil)}, true, 0, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			managed, client := true, fake.NewClientset(tc.exists...)
			client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				managed = !tc.optsOut
				return false, nil, nil
			})
			written := 0
			client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				written++
				return false, nil, nil
			})
			holds := admission.Holds{Store: lease.NewStore(client, "", "me"), Managed: func(string) bool { return managed }}
			err := holds.Relabel(t.Context(), plan.Key{Namespace: "team", Name: "store"})
			if written != tc.labels || (err != nil) != tc.fails {
				t.Errorf("written %d times, want %d; got %v", written, tc.labels, err)
			}
		})
	}
}
