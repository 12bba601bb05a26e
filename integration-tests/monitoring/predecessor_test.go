package monitoring_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// The alerts of the predecessor's and of Mimir's mixin are raised by lockstep's metrics in the situations in which the
// predecessor's metrics raised them, with the thresholds and times of the mixins.
func TestAlertsOfThePredecessorAreRaisedWhereTheyWere(t *testing.T) {
	needsPrograms(t)
	folder := t.TempDir()
	writeRules(t, filepath.Join(folder, "predecessor.rules.yaml"), rulesOf(t, "predecessor.yaml"))
	writeRules(t, filepath.Join(folder, "predecessor-alerts.rules.yaml"), []ruleGroup{{Name: "former", Rules: formerRules()}})
	played := filepath.Join(folder, "predecessor.yaml")
	if err := os.WriteFile(played, readFile(t, "testdata/predecessor.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "test", "rules", played)
}

func formerRules() []map[string]any {
	var rules []map[string]any
	for _, a := range formerAlerts() {
		rules = append(rules, map[string]any{"alert": a.name, "expr": a.expr, "for": a.lasts, "labels": map[string]string{"severity": a.severity}})
	}
	return rules
}

// Groups in addition to the one that rolls: an idle one, one that the predecessor could not reconcile, and one that is
// blocked for a reason that the predecessor did not count as a failure.
const (
	groupIdle   = "idle"
	groupWrong  = "wrong"
	groupUnwell = "unwell"
)

// Dashboards and alerts of the predecessor's and of Mimir's mixin read a running lockstep through the recording rules.
func TestDashboardsAndAlertsOfThePredecessorMeanTheSame(t *testing.T) {
	needsPrograms(t)
	s := newScene(t)
	s.operate("http://127.0.0.1:1") // no server listens there
	p := s.scrape(withNative)
	s.settle()
	s.causeProblems()
	s.addGroup(groupIdle, func(int, *appsv1.StatefulSet) {})
	s.addGroup(groupUnwell, func(_ int, zone *appsv1.StatefulSet) { zone.Spec.Template.Annotations[localcluster.ReadyAfter] = "1h" })
	s.addGroup(groupWrong, func(i int, zone *appsv1.StatefulSet) {
		if i == 0 {
			zone.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		}
	})
	s.ignoreFailures()
	c := s.caller()
	p.await("the first success of every group", func() error { return p.groups(formerLastSuccess, groupIdle, groupUnwell, groupWrong, group) })
	s.retemplate(groupWrong + "-zone-b")

	left := formerPanels()
	for deadline := time.Now().Add(patience); len(left) > 0 && time.Now().Before(deadline); {
		s.roll()
		s.await("the rollout", func() error {
			c.sendAll()
			return s.behind()
		})
		left = slices.DeleteFunc(left, p.showsLines)
	}
	for _, panel := range left {
		found, err := p.query(panel.expr)
		t.Errorf("%s: %v, %v: %s", panel.title, found, err, panel.expr)
	}
	p.raises()
}

// addGroup creates a group of two zones with a pod each, after change has changed them.
func (s *scene) addGroup(name string, change func(i int, zone *appsv1.StatefulSet)) {
	s.Helper()
	for i, letter := range []string{"a", "b"} {
		zone := zoneOf(name + "-zone-" + letter)
		zone.Labels = map[string]string{"rollout-group": name}
		zone.Spec.Replicas = new(int32(1))
		own := map[string]string{"rollout-group": name, "name": zone.Name}
		zone.Spec.Selector.MatchLabels, zone.Spec.Template.Labels = own, own
		change(i, zone)
		_, err := s.admin.AppsV1().StatefulSets(namespace).Create(s.Context(), zone, metav1.CreateOptions{})
		s.must(err)
	}
}

// retemplate gives a zone another template.
func (s *scene) retemplate(zone string) {
	s.Helper()
	const patch = `{"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "store:next"}]}}}}`
	_, err := s.admin.AppsV1().StatefulSets(namespace).Patch(s.Context(), zone, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

const ignoredWebhook = "pod-eviction-" + namespace + ".grafana.com"

// ignoreFailures configures a webhook of the namespace whose failures are ignored. It is called for no object.
func (s *scene) ignoreFailures() {
	s.Helper()
	hook := admissionregistrationv1.ValidatingWebhook{
		Name: ignoredWebhook, ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/admission/pod-eviction")},
		FailurePolicy: new(admissionregistrationv1.Ignore), SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has"}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
		}},
	}
	_, err := s.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(s.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-eviction-" + namespace, Labels: map[string]string{"grafana.com/namespace": namespace}},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{hook},
	}, metav1.CreateOptions{})
	s.must(err)
}

// groups returns an error unless a metric has a value other than 0 for exactly these groups.
func (p *prometheus) groups(metric string, want ...string) error {
	found, err := p.query(metric + " > 0")
	if err != nil {
		return err
	}
	var got []string
	for _, series := range found {
		got = append(got, series.labels["rollout_group"])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("groups %v, want %v", got, want)
	}
	return nil
}

// showsLines reports whether a panel shows data, and every line has a name.
func (p *prometheus) showsLines(panel formerPanel) bool {
	p.Helper()
	found, err := p.query(panel.expr)
	if err != nil {
		p.Fatalf("%s: %s: %v", panel.title, panel.expr, err)
	}
	for _, series := range found {
		for _, label := range panel.labels {
			if series.labels[label] == "" {
				return false
			}
		}
	}
	return len(found) > 0
}

// raises compares the expressions of the alerts with the situation: an ignored webhook, an invalid budget, and a group
// with a zone that is not OnDelete. Ten seconds take the place of the ten minutes of the last alert.
func (p *prometheus) raises() {
	p.Helper()
	want := map[string][]string{
		"IncorrectWebhookConfigurationFailurePolicy":   {"namespace=" + namespace + " type=ValidatingWebhook webhook=" + ignoredWebhook},
		"BadZoneAwarePodDisruptionBudgetConfiguration": {"job=" + namespace + "/rollout-operator namespace=" + namespace},
		"RolloutOperatorNotReconciling":                {"cluster=here namespace=" + namespace + " rollout_group=" + groupWrong},
	}
	for _, alert := range formerAlerts() {
		expr := strings.Replace(alert.expr, notReconciling(600), notReconciling(10), 1)
		p.await(alert.name, func() error {
			found, err := p.query(expr)
			if err != nil {
				return err
			}
			var got []string
			for _, series := range found {
				got = append(got, series.named())
			}
			if slices.Sort(got); !slices.Equal(got, want[alert.name]) {
				return fmt.Errorf("raised by %q, want %q", got, want[alert.name])
			}
			return nil
		})
	}
	for _, resting := range []string{groupIdle, groupUnwell, group} {
		p.await("the last success of "+resting, func() error {
			found, err := p.query(`time() - ` + formerLastSuccess + `{rollout_group="` + resting + `"}`)
			if err == nil && (len(found) != 1 || found[0].value > 5) {
				err = errors.New(fmt.Sprint(found, " s ago"))
			}
			return err
		})
	}
}

// named returns the labels of a series in order.
func (s sample) named() string {
	var pairs []string
	for label, value := range s.labels {
		pairs = append(pairs, label+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}
