package monitoring_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
)

// prometheus is a real Prometheus that scrapes the operator every second.
type prometheus struct {
	*scene
	url string
}

// withNative makes Prometheus derive native histograms from the classic ones and keep both. The exemplars are then
// those of the native ones.
const withNative = `
    always_scrape_classic_histograms: true
    convert_classic_histograms_to_nhcb: true`

// scrape runs Prometheus. The settings are further lines of the scrape job.
func (s *scene) scrape(settings string) *prometheus {
	s.Helper()
	folder := s.TempDir()
	writeRules(s.T, filepath.Join(folder, "rules.yaml"), append(rulesOf(s.T, "alerts.yaml"), rulesOf(s.T, "predecessor.yaml")...))
	operator, err := url.Parse(s.operator.URL())
	s.must(err)
	config := filepath.Join(folder, "prometheus.yaml")
	writeFile(s.T, config, fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: lockstep
    honor_labels: true%s
    static_configs:
      - targets: [%q]
        labels: {cluster: here, namespace: %s, pod: lockstep-0}
`, settings, operator.Host, home))
	log, err := os.Create(filepath.Join(folder, "log"))
	s.must(err)
	s.Cleanup(func() {
		if text, err := os.ReadFile(log.Name()); s.Failed() && err == nil {
			s.Logf("the log of Prometheus:\n%s", text)
		}
	})
	binary, arguments := program(s.T, "prometheus"), []string{"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(folder, "data"), "--enable-feature=exemplar-storage"}
	listen := ""
	s.await("Prometheus", func() error { // another program may take a free port before Prometheus listens
		listen = freePort(s.T)
		return s.listens(exec.Command(binary, append(arguments, "--web.listen-address="+listen)...), log, listen)
	})
	p := &prometheus{s, "http://" + listen}
	s.await("a scrape", func() error {
		found, err := p.query(`lockstep_build_info`)
		if err == nil && len(found) == 0 {
			err = errors.New("nothing yet")
		}
		return err
	})
	return p
}

// listens starts Prometheus and waits until it is ready at an address, or has ended.
func (s *scene) listens(command *exec.Cmd, log *os.File, address string) error {
	s.Helper()
	command.Stdout, command.Stderr = log, log
	s.must(child.Start(command))
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	s.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if answer, err := http.Get("http://" + address + "/-/ready"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ended:
			return errors.New("it has ended by itself")
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.Fatal("Prometheus is not ready")
	return nil
}

// sample is one series and its value.
type sample struct {
	labels map[string]string
	value  float64
}

// query returns the current numbers of a PromQL expression.
func (p *prometheus) query(expr string) ([]sample, error) {
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := p.get("/api/v1/query?"+url.Values{"query": {expr}}.Encode(), &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	var samples []sample
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		if value == value { // a quantile without data is NaN
			samples = append(samples, sample{r.Metric, value})
		}
	}
	return samples, nil
}

// exemplars returns the number of exemplars of a PromQL expression.
func (p *prometheus) exemplars(expr string) (int, error) {
	var answer struct {
		Data []struct {
			Exemplars []struct{ Labels map[string]string }
		}
	}
	if err := p.get("/api/v1/query_exemplars?"+url.Values{"query": {expr}, "start": {"0"}, "end": {"99999999999"}}.Encode(), &answer); err != nil {
		return 0, err
	}
	n := 0
	for _, series := range answer.Data {
		for _, e := range series.Exemplars {
			if len(e.Labels["trace_id"]) == 32 {
				n++
			}
		}
	}
	return n, nil
}

func (p *prometheus) get(path string, into any) error {
	q, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

// chosen replaces Grafana's variables with values.
func chosen(expr string) string {
	return strings.NewReplacer("$namespace", ".*", "$group", ".*", "$__rate_interval", "10s", "$__range", "1m").Replace(expr)
}
