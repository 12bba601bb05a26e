package operator

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// configured contains configurations that a test sets.
type configured struct {
	unknown error
	faults  []cabundle.Fault
}

func (c *configured) Known() error                              { return c.unknown }
func (c *configured) Faults(cabundle.Endpoint) []cabundle.Fault { return c.faults }

// counts returns the expected number of faults of each kind.
func counts(faults ...cabundle.Fault) map[string]int {
	all := map[string]int{}
	for _, kind := range cabundle.FaultKinds() {
		all[string(kind)] = 0
	}
	for _, fault := range faults {
		all[string(fault.Kind)]++
	}
	return all
}

func TestALastingFaultIsLoggedOnceAndShownUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := logtest.NewNullLogger()
		there, shown := &configured{unknown: errors.New("not yet")}, map[string]int{}
		f := &faultFinder{injector: there, log: log, show: func(kind string, n int) { shown[kind] = n }, wake: make(chan struct{}, 1)}
		ctx, stop := context.WithCancel(t.Context())
		go f.watch(ctx)
		states := func(sentence string, want map[string]int, level logrus.Level, said int) {
			t.Helper()
			f.look()
			time.Sleep(settling + time.Second)
			synctest.Wait()
			if !maps.Equal(shown, want) {
				t.Errorf("%s: shown are %v, want %v", sentence, shown, want)
			}
			if got := len(lines.AllEntries()); got != said || said > 0 && lines.LastEntry().Level != level {
				t.Errorf("%s: %d lines, want %d of level %s: %v", sentence, got, said, level, lines.LastEntry())
			}
		}
		path := cabundle.Fault{Kind: cabundle.FaultPath, Key: cabundle.Key{Kind: cabundle.Mutating, Name: "x"}, What: "names the path x"}
		bundle := path
		bundle.Kind = cabundle.FaultBundle

		states("before the caches are filled", map[string]int{}, 0, 0)
		there.unknown, there.faults = nil, []cabundle.Fault{path}
		states("a fault", counts(path), logrus.WarnLevel, 1)
		path.What = "in other words"
		there.faults = []cabundle.Fault{path}
		states("the same one", counts(path), logrus.WarnLevel, 1)
		there.faults = []cabundle.Fault{path, bundle}
		states("another one", counts(path, bundle), logrus.WarnLevel, 2)
		there.faults = nil
		states("no fault", counts(), logrus.InfoLevel, 3)
		f.look()
		time.Sleep(settling / 2)
		there.faults = []cabundle.Fault{bundle}
		f.look()
		time.Sleep(settling / 4)
		there.faults = nil
		states("a fault that passed", counts(), logrus.InfoLevel, 3)

		f.try = func(context.Context) []cabundle.Fault { return []cabundle.Fault{path} }
		states("the faults that a request shows", counts(path), logrus.WarnLevel, 4)
		f.try = nil
		time.Sleep(lookAgain + settling)
		if !maps.Equal(shown, counts()) {
			t.Errorf("no further check: %v", shown)
		}
		f.try = func(context.Context) []cabundle.Fault { return []cabundle.Fault{path} } // a firewall blocks the path, without an event
		time.Sleep(lookAgain + settling)
		if !maps.Equal(shown, counts(path)) {
			t.Errorf("a further check although there was no fault: %v", shown)
		}
		stop()
	})
}

func TestEveryPathThatMayBeConfiguredIsServed(t *testing.T) {
	log, _ := logtest.NewNullLogger()
	handler := admission.New(admission.Options{
		NoDownscale: admission.NoDownscale{}, PrepareDownscale: &admission.PrepareDownscale{},
		PodEviction: &admission.PodEviction{}, PodEvictionPin: &admission.PodEvictionPin{}, Log: log,
	})
	for _, path := range append(admission.Paths(), "/admission/other") {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}")))
		if served := answer.Code != http.StatusNotFound; served != (path != "/admission/other") {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
}
