package reference_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func without(what string) []metav1.APIResource {
	return slices.DeleteFunc(scaled("Template", "templates"), func(r metav1.APIResource) bool { return r.Name == what })
}

// The event of a CRD may arrive before discovery shows the change.
func TestChangeOfAKindIsNoticedIfDiscoveryIsLate(t *testing.T) {
	for _, late := range []time.Duration{0, 900 * time.Millisecond, 9 * time.Second, 29 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			s := withTemplates()
			s.serve([]string{"v1"}, without("templates/status")...)
			inRunning(t, "", s, func(d *running) {
				d.Want("team", theWeb, true)
				d.wantReplicas(theWeb, 3)
				time.Sleep(time.Hour)
				d.define("templates.example.com")
				synctest.Wait()
				time.Sleep(late)
				d.serve([]string{"v1"}, scaled("Template", "templates")...)
				time.Sleep(max(time.Second, 4*late))
				d.wantReplicas(theWeb, 3)
				if _, reports := d.Scale("team", theWeb); !reports {
					d.t.Error("its status is not known")
				}
				d.define("templates.example.com")
				synctest.Wait()
				time.Sleep(late)
				d.serve([]string{"v1"}, without("templates/scale")...)
				time.Sleep(max(time.Second, 4*late))
				d.wantTrouble(theWeb, reason.ReferenceKindUnknown, "Template.example.com: it has no scale subresource")
			})
		})
	}
}

// A CRD may change the path of replicas without a change of its objects.
func TestObjectsAreReadAgainAfterAChangeOfTheirCRD(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		time.Sleep(time.Hour)
		d.questions()
		d.reread(web, 8)
		d.define("templates.example.com")
		time.Sleep(time.Second)
		d.wantReplicas(theWeb, 8)
		d.reread(web, 9)
		time.Sleep(29 * time.Second)
		d.wantReplicas(theWeb, 9)
		requested := d.reads()
		if reads := len(slices.DeleteFunc(slices.Clone(requested), func(q string) bool { return !strings.HasSuffix(q, "/scale") })); reads != 2 {
			d.t.Errorf("read %d times", reads)
		}
		if len(requested) > 2+2*4 {
			d.t.Errorf("requests: %s", requested)
		}
		d.define("others.example.com")
		time.Sleep(time.Hour)
		if reads := d.counted("get /apis/example.com/v1/namespaces/"); reads > 0 {
			d.t.Errorf("read %d times when another kind changed", reads)
		}
	})
}

func TestKindsAreDiscoveredAtIntervalsIfCRDsCannotBeWatched(t *testing.T) {
	s := withTemplates()
	s.serve([]string{"v1"}, without("templates/status")...)
	inRunning(t, "team", s, func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.questions()
		time.Sleep(time.Hour)
		if n := d.counted("get "); n == 0 || n > 2*12 {
			d.t.Errorf("%d requests in an hour", n)
		}
		d.serve([]string{"v1"}, scaled("Template", "templates")...)
		time.Sleep(5 * time.Minute)
		d.wantReplicas(theWeb, 3)
		if _, reports := d.Scale("team", theWeb); !reports {
			d.t.Error("its status is not known")
		}
	})
}
