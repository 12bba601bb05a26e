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

// replica is one of the two operators of a trial. When its process ends, it starts another one, as
// kubelets do. It keeps its proxy.
type replica struct {
	trial      *trial
	number     int
	proxy      *faultproxy.Proxy
	kubeconfig string

	mu             sync.Mutex
	program        string
	process        *localcluster.Operator // nil if no process is ready
	stopping       bool                   // the end of the process is expected
	logs           []string               // paths of the logs of all processes
	processRecords []processRecord        // of all processes, including those that did not start
	stale          time.Time              // since when the stale API server fills the caches; zero: it does not

	led atomic.Int64 // when it last renewed the leader Lease, as far as observed
}

// processRecord is the lifetime of one process. Its requests carry a signature with its number, so
// that faults of one process do not excuse another.
type processRecord struct {
	signature   string
	from, to    time.Time // to is zero while it runs
	wrongClocks bool      // the process had wrong clocks
}

// agent returns the part of the user agent that identifies its requests in audit logs.
func (l processRecord) agent() string { return "(" + l.signature + ")" }

// longerThanHold is longer than the Lease duration of a group.
const longerThanHold = 70 * time.Second

// restartDelay is the time between two processes.
const restartDelay = 300 * time.Millisecond

// newReplica returns a replica behind a proxy of its own. run starts it.
func (t *trial) newReplica(number int, token string) (*replica, error) {
	r := &replica{trial: t, number: number, program: t.env.program}
	direct := t.env.cluster.AdminConfig() // for address and CA; the operator uses its own token
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
	r.kubeconfig = fmt.Sprintf("%s/%s-%d.kubeconfig", t.env.cluster.Dir(), t.namespace, number)
	if err := clientcmd.WriteToFile(*config, r.kubeconfig); err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return r, nil
}

// run keeps the operator running until ctx ends.
func (r *replica) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.startRecord()
		program := r.nextProgram()
		process, err := localcluster.StartOperator(ctx, localcluster.OperatorOptions{
			Kubeconfig: r.kubeconfig, Program: program, Args: r.args(), Env: r.env(),
		})
		if err != nil {
			if ctx.Err() == nil {
				r.trial.failed(time.Now(), "the %s operator does not start: %v", ordinals[r.number], err)
			}
			r.endRecord()
			wait(ctx, restartDelay)
			continue
		}
		r.started(process)
		if r.isReplaced(program) {
			process.Kill()
		}
		select {
		case <-process.Exited():
			r.exited(process)
			r.endRecord()
			wait(ctx, restartDelay)
		case <-ctx.Done():
			process.Kill()
		}
	}
	r.trial.service.setAddress(r.number, "")
}

// startRecord adds the record of another process.
func (r *replica) startRecord() {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := processRecord{signature: fmt.Sprintf("%s %d", ordinals[r.number], len(r.processRecords)+1), from: time.Now()}
	r.processRecords = append(r.processRecords, l)
	r.proxy.Sign(l.signature)
}

// endRecord sets the end of the last process.
func (r *replica) endRecord() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processRecords[len(r.processRecords)-1].to = time.Now()
}

func (r *replica) processes() []processRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.processRecords)
}

// currentProcess returns the current process, or the last one.
func (r *replica) currentProcess() processRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.processRecords[len(r.processRecords)-1]
}

func (r *replica) args() []string {
	args := []string{
		"-log.level=debug", "-kubernetes.namespace=" + r.trial.namespace, "-operator.namespace=" + r.trial.namespace,
		"-server-tls.enabled", "-server-tls.port=0", "-server-tls.self-signed-cert.dns-name=127.0.0.1",
		"-webhooks.update-ca-bundle=false",
		"-leader-election.lease-duration=4s", "-leader-election.renew-deadline=3s", "-leader-election.retry-period=300ms",
	}
	if r.trial.plan.pool != nil {
		args = append(args, "-statefulcluster.enabled")
	}
	return args
}

// env returns environment variables. For faults that need older lists, it disables streaming lists,
// which wait until the API server's cache is up to date. For wrong clocks, it contains the settings of
// the clocks.
func (r *replica) env() (variables []string) {
	for _, f := range r.trial.plan.faults {
		if !f.affects(r.number) {
			continue
		}
		if f.cachedLists {
			variables = append(variables, "KUBE_FEATURE_WatchListClient=false")
		}
		if f.clocks != nil {
			variables = append(variables, f.clocks[r.number].clockAt(r.trial.began).Variable())
		}
	}
	return variables
}

func (r *replica) nextProgram() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = false
	return r.program
}

func (r *replica) started(process *localcluster.Operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = process
	if r.program == r.trial.env.former && len(r.logs) == 0 {
		r.trial.count("former version")
	}
	if r.program == r.trial.env.wrongClocks {
		if !slices.ContainsFunc(r.processRecords, func(l processRecord) bool { return l.wrongClocks }) {
			r.trial.count("wrong clocks")
		}
		r.processRecords[len(r.processRecords)-1].wrongClocks = true
	}
	r.logs = append(r.logs, process.LogPath())
	r.trial.service.setAddress(r.number, webhooksOf(process.Logs()))
}

// isReplaced reports whether the operator was upgraded while a process of this program started, so that
// upgrade found no process to stop.
func (r *replica) isReplaced(program string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	replaced := r.program != program
	r.stopping = r.stopping || replaced
	return replaced
}

// exited records the end of a process, which is a failure if it was not expected.
func (r *replica) exited(process *localcluster.Operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = nil
	r.trial.service.setAddress(r.number, "")
	if !r.stopping {
		r.trial.operatorExited(process)
	}
}

// isRunning reports whether a process is ready.
func (r *replica) isRunning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process != nil
}

// crash returns a function that kills the process, and counts the fault if there was one.
func (r *replica) crash(kind string) func() {
	return func() {
		if r.kill() {
			r.trial.count(kind)
		}
	}
}

// kill kills the process as a crash would. It reports whether there was one.
func (r *replica) kill() bool {
	r.mu.Lock()
	process := r.process
	r.process, r.stopping = nil, true
	r.mu.Unlock()
	if process != nil {
		process.Kill()
	}
	return process != nil
}

// newest returns the tested program, with wrong clocks if a fault requires them.
func (r *replica) newest() string {
	g := r.trial.env
	wrong := func(f fault) bool { return f.clocks != nil && f.affects(r.number) }
	if g.wrongClocks != "" && slices.ContainsFunc(r.trial.plan.faults, wrong) {
		return g.wrongClocks
	}
	return g.program
}

// upgrade switches to the newest program, unless it is running already. It reports whether it replaced
// a process.
func (r *replica) upgrade(ctx context.Context) (bool, error) {
	newest := r.newest()
	r.mu.Lock()
	process, same := r.process, r.program == newest
	if !same {
		r.program, r.stopping = newest, true
	}
	r.mu.Unlock()
	if same || process == nil {
		return false, nil // the next process runs the newest program
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err := process.Stop(ctx)
	return err == nil, err
}

// replaceFormer upgrades an operator that is still of the former version.
func (r *replica) replaceFormer(ctx context.Context) error {
	r.mu.Lock()
	former := r.program == r.trial.env.former
	r.mu.Unlock()
	if !former {
		return nil
	}
	_, err := r.upgrade(ctx)
	return err
}

// endFaults ends the faults of requests. Watches that are delayed already continue as they are.
func (r *replica) endFaults() error {
	r.proxy.Play(nil)
	for _, f := range r.trial.plan.faults {
		for resource := range f.watchDelays {
			r.proxy.DelayWatches(resource, 0)
		}
	}
	return r.proxy.CacheAt(r.trial.env.cluster.URL())
}

// webhooksOf returns the address of the webhooks in a log.
func webhooksOf(log string) string {
	for line := range strings.Lines(log) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving webhooks" {
			return entry.Address
		}
	}
	return ""
}

// log returns the logs of all processes of the replica.
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
