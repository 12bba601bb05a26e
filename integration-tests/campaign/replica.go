package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// replica is one of a trial's two operators. Whoever kills it, it is started again
// soon, as kubelets do; it keeps its proxy.
type replica struct {
	trial      *trial
	number     int
	proxy      *faultproxy.Proxy
	kubeconfig string

	mu      sync.Mutex
	program string
	process *localcluster.Operator // nil while there is none that is ready
	ends    bool                   // somebody wants it to
	logs    []string               // paths, of all that have run
	lives   []life                 // of all processes, those that did not start as well
	stale   time.Time              // since when caches are filled by the API server that lags; zero: they are not

	led atomic.Int64 // when it renewed its leadership last, as far as anybody looked
}

// life is the time of one process. Its number is in how its requests are signed: what
// befell one excuses no other.
type life struct {
	signature string
	from, to  time.Time // zero: it lasts
	bent      bool      // its clocks were wrong
}

// agent is how audit logs tell its requests from all others.
func (l life) agent() string { return "(" + l.signature + ")" }

// pastHold is longer than a Lease of a group counts.
const pastHold = 70 * time.Second

// restart is how long nobody runs between two processes.
const restart = 300 * time.Millisecond

// newReplica is one behind a proxy of its own. It begins with run.
func (t *trial) newReplica(number int, token string) (*replica, error) {
	r := &replica{trial: t, number: number, program: t.ground.program}
	direct := t.ground.cluster.AdminConfig() // for address and CA; the operator shows its own token
	var err error
	if r.proxy, err = faultproxy.Start(direct.Host, direct.CAData); err != nil {
		return nil, err
	}
	config, err := clientcmd.LoadFromFile(token)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = r.proxy.URL(), r.proxy.Authority()
	}
	r.kubeconfig = fmt.Sprintf("%s/%s-%d.kubeconfig", t.ground.cluster.Dir(), t.namespace, number)
	if err := clientcmd.WriteToFile(*config, r.kubeconfig); err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return r, nil
}

// run keeps the operator running until ctx ends.
func (r *replica) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.isBorn()
		process, err := localcluster.StartOperator(ctx, localcluster.OperatorOptions{
			Kubeconfig: r.kubeconfig, Program: r.built(), Args: r.args(), Env: r.env(),
		})
		if err != nil {
			if ctx.Err() == nil {
				r.trial.failed(time.Now(), "the %s operator does not start: %v", ordinals[r.number], err)
			}
			r.dies()
			wait(ctx, restart)
			continue
		}
		r.begins(process)
		select {
		case <-process.Exited():
			r.over(process)
			r.dies()
			wait(ctx, restart)
		case <-ctx.Done():
			process.Kill()
		}
	}
	r.trial.service.leads(r.number, "")
}

// isBorn notes that there will be another process.
func (r *replica) isBorn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := life{signature: fmt.Sprintf("%s %d", ordinals[r.number], len(r.lives)+1), from: time.Now()}
	r.lives = append(r.lives, l)
	r.proxy.Sign(l.signature)
}

// dies notes that the last process is no more.
func (r *replica) dies() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lives[len(r.lives)-1].to = time.Now()
}

func (r *replica) processes() []life {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lives)
}

// present is the process that there is, or was last.
func (r *replica) present() life {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lives[len(r.lives)-1]
}

func (r *replica) args() []string {
	return []string{
		"-log.level=debug", "-kubernetes.namespace=" + r.trial.namespace, "-operator.namespace=" + r.trial.namespace,
		"-server-tls.enabled", "-server-tls.port=0", "-server-tls.self-signed-cert.dns-name=127.0.0.1",
		"-webhooks.update-ca-bundle=false",
		"-leader-election.lease-duration=4s", "-leader-election.renew-deadline=3s", "-leader-election.retry-period=300ms",
	}
}

// env lets who goes back in time list objects from the API server's cache, as clients
// did before lists were streamed: a stream waits until the cache is up to date. It says
// which clocks are wrong to whom that matters.
func (r *replica) env() (variables []string) {
	for _, f := range r.trial.plan.faults {
		if !f.befalls(r.number) {
			continue
		}
		if f.lists {
			variables = append(variables, "KUBE_FEATURE_WatchListClient=false")
		}
		if f.clocks != nil {
			variables = append(variables, f.clocks[r.number].since(r.trial.began).Variable())
		}
	}
	return variables
}

func (r *replica) built() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = false
	return r.program
}

func (r *replica) begins(process *localcluster.Operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = process
	if r.program == r.trial.ground.former && len(r.logs) == 0 {
		r.trial.count("former version")
	}
	if r.program == r.trial.ground.bent {
		if !slices.ContainsFunc(r.lives, func(l life) bool { return l.bent }) {
			r.trial.count("wrong clocks")
		}
		r.lives[len(r.lives)-1].bent = true
	}
	r.logs = append(r.logs, process.LogPath())
	r.trial.service.leads(r.number, webhooksOf(process.Logs()))
}

// over notes that a process has ended, which nobody may have wanted.
func (r *replica) over(process *localcluster.Operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = nil
	r.trial.service.leads(r.number, "")
	if !r.ends {
		r.trial.ended(process)
	}
}

// runs reports whether there is a process that is ready.
func (r *replica) runs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process != nil
}

// crash returns what kills the process, and counts that as a kind of fault if there is one.
func (r *replica) crash(kind string) func() {
	return func() {
		if r.kill() {
			r.trial.count(kind)
		}
	}
}

// kill ends the process as a crash would. It reports whether there was one.
func (r *replica) kill() bool {
	r.mu.Lock()
	process := r.process
	r.process, r.ends = nil, true
	r.mu.Unlock()
	if process != nil {
		process.Kill()
	}
	return process != nil
}

// newest is the program that is tried, the one whose clocks can be wrong where they are to be.
func (r *replica) newest() string {
	g := r.trial.ground
	wrong := func(f fault) bool { return f.clocks != nil && f.befalls(r.number) }
	if g.bent != "" && slices.ContainsFunc(r.trial.plan.faults, wrong) {
		return g.bent
	}
	return g.program
}

// upgrade lets the newest program run from now on, if another one does. It reports whether
// one was at work.
func (r *replica) upgrade(ctx context.Context) (bool, error) {
	newest := r.newest()
	r.mu.Lock()
	process, same := r.process, r.program == newest
	if !same {
		r.program, r.ends = newest, true
	}
	r.mu.Unlock()
	if same || process == nil {
		return false, nil // or the next one will be it
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err := process.Stop(ctx)
	return err == nil, err
}

// replaceFormer replaces an operator that is still of the former version.
func (r *replica) replaceFormer(ctx context.Context) error {
	r.mu.Lock()
	former := r.program == r.trial.ground.former
	r.mu.Unlock()
	if !former {
		return nil
	}
	_, err := r.upgrade(ctx)
	return err
}

// calm ends the faults of requests from now on. Watches that tell late go on as they are.
func (r *replica) calm() error {
	r.proxy.Play(nil)
	for _, resource := range []string{"pods", "statefulsets", "leases"} {
		r.proxy.DelayWatches(resource, 0)
	}
	return r.proxy.CacheAt(r.trial.ground.cluster.URL())
}

// webhooksOf is where a log says that webhooks are served.
func webhooksOf(log string) string {
	for line := range strings.Lines(log) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving webhooks" {
			return entry.Address
		}
	}
	return ""
}

// log returns what all of the replica's processes have printed.
func (r *replica) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all strings.Builder
	for _, path := range r.logs {
		content, err := os.ReadFile(path)
		if err != nil {
			content = []byte(err.Error())
		}
		fmt.Fprintf(&all, "--- a process of the %s operator\n%s", ordinals[r.number], content)
	}
	return all.String()
}
