package report_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// A new leader finds very many waits at the same time.
func TestAWaitBeyondTheLimitIsReportedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups = 500
		r := newRoom()
		began := time.Now()
		reportAll := func() (news int) {
			for number := range groups {
				s := fixture.MustParse("zone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=1 strategy=RollingUpdate\n zone-b-0 ready@1\n")
				s.Key = plan.Key{Namespace: "team", Name: strconv.Itoa(number)}
				s.Now = s.Now.Add(time.Since(began))
				if sent, _ := r.Group(s, group.Plan(s), nil); sent {
					news++
				}
			}
			return news
		}
		if news := reportAll(); news != 0 {
			t.Fatalf("%d groups are reported before their waits have lasted", news)
		}
		time.Sleep(noticeable)
		if news := reportAll(); news == 0 || news == groups {
			t.Fatalf("%d of %d groups are reported at once", news, groups)
		}
		for range 10 {
			time.Sleep(time.Minute)
			reportAll()
		}
		if events, news := len(r.sent()), reportAll(); news != 0 || events < groups {
			t.Errorf("%d Events of %d groups after ten minutes, and %d are still to come", events, groups, news)
		}
	})
}
