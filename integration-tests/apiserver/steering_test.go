package apiserver_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// steering is a source of the replicas of zones.
type steering struct {
	name  string
	begin func(*scene) // creates the required objects first
	zones func() []*appsv1.StatefulSet
	ask   func(s *scene, n int32) // requests n replicas of each zone
}

var steerings = []steering{
	{
		name:  "following",
		begin: func(*scene) {},
		zones: func() []*appsv1.StatefulSet {
			return []*appsv1.StatefulSet{zone("zone-a", 2), zone("zone-b", 2, prepares, follows("zone-a"))}
		},
		ask: func(s *scene, n int32) { s.change("zone-a", forced(strconv.Itoa(int(n)))) },
	},
	{
		name:  "mirroring",
		begin: func(s *scene) { s.template("web", 2) },
		zones: func() []*appsv1.StatefulSet {
			return []*appsv1.StatefulSet{zone("zone-a", 2, mirrors("web")), zone("zone-b", 2, prepares, mirrors("web"))}
		},
		ask: func(s *scene, n int32) { s.setsReplicas("web", int64(n)) },
	},
	{
		name:  "scaling down after a delay",
		begin: func(s *scene) { s.template("web", 2) },
		zones: func() []*appsv1.StatefulSet {
			return []*appsv1.StatefulSet{zone("zone-a", 2, mirrors("web"), delays("1s")), zone("zone-b", 2, prepares, mirrors("web"), delays("2s"))}
		},
		ask: func(s *scene, n int32) { s.setsReplicas("web", int64(n)) },
	},
}

// steered returns a scene without webhooks and with one operator behind a proxy. Two zones take
// their replicas from elsewhere, and one of them prepares its pods. The last result starts the
// operator again.
func steered(t *testing.T, way steering) (*scene, *faultproxy.Proxy, func() *operator) {
	t.Helper()
	s := unmanaged(t)
	s.rules.guarded = true
	s.answersLike(nil)
	s.withRole()
	proxy, kubeconfig := s.proxied()
	start := func() *operator { return s.startOperatorWith(kubeconfig, withoutElection) }
	start()
	way.begin(s)
	s.create(way.zones()...)
	return s, proxy, start
}

// reaches requests n replicas and waits until both zones have them.
func (s *scene) reaches(way steering, n int32) {
	s.t.Helper()
	way.ask(s, n)
	s.sized(map[string]int32{"zone-a": n, "zone-b": n})
}

// writesOf returns the operator's writes of scaling up and of scaling down without a crash, each
// numbered from its beginning.
func writesOf(t *testing.T, way steering) (scalingUp, scalingDown []faultproxy.Request) {
	t.Helper()
	s, proxy, _ := steered(t, way)
	since := func(before int) []faultproxy.Request {
		writes := proxy.Writes()[before:]
		for i := range writes {
			writes[i].Number = i + 1
		}
		return writes
	}
	before := len(proxy.Writes())
	s.reaches(way, 3)
	scalingUp = since(before)
	before = len(proxy.Writes())
	s.reaches(way, 1)
	return scalingUp, since(before)
}

// resize is a crash during a change of the number of replicas.
type resize struct {
	crashPoint
	to int32
}

func (r resize) name() string { return fmt.Sprintf("to %d, %s", r.to, r.crashPoint) }

func TestScalingSurvivesACrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, way := range steerings {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			random, _ := seeded(t)
			const few = 3
			var all []resize
			scalingUp, scalingDown := writesOf(t, way)
			for to, writes := range map[int32][]faultproxy.Request{3: scalingUp, 1: scalingDown} {
				for _, write := range writes {
					all = append(all, resize{crashPoint{write, false}, to}, resize{crashPoint{write, true}, to})
				}
			}
			slices.SortFunc(all, func(a, b resize) int { return strings.Compare(a.name(), b.name()) })
			chosen := someOf(random, few, all)
			t.Logf("%s up and down has %d histories with a crash; %d of them are tried", way.name, len(all), len(chosen))
			for _, r := range chosen {
				t.Run(r.name(), func(t *testing.T) {
					t.Parallel()
					r.survives(t, way)
				})
			}
		})
	}
}

func (r resize) survives(t *testing.T, way steering) {
	t.Helper()
	s, proxy, start := steered(t, way)
	s.patience = longPatience
	if r.to == 1 {
		s.reaches(way, 3)
	}
	started := s.crashAt(proxy, len(proxy.Writes())+r.write.Number, r.after, start)
	way.ask(s, r.to)
	started()
	s.reaches(way, r.to)
	s.reaches(way, 1)
	s.removedPrepared("zone-b-1")
	s.removedPrepared("zone-b-2")
	s.noPreparedPodStays("zone-b-0")
}
