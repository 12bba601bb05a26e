package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lockstep-dev/lockstep/integration-tests/bench/standin"
)

// groupsPerNamespace is the number of groups in each namespace of the stand-in.
const groupsPerNamespace = 5

// standInResult contains the figures of a contender with the stand-in.
type standInResult struct {
	full, read time.Duration   // time until caches were full, and the floor's time
	memory     memoryUse       // of the floor: none
	writes     []time.Duration // from a change of one group to the first write for it
}

// standIns measures every operator with a stand-in for an API server in this process, with increasing
// numbers of pods.
func (b *bench) standIns(ctx context.Context) ([]row, error) {
	var rows []row
	var first map[string]standInResult
	contenders := b.standInContenders()
	for _, pods := range b.standIn.pods {
		all := map[string]standInResult{}
		var world standin.World
		for _, c := range contenders {
			err := b.withStandIn(ctx, c, pods, func(ctx context.Context, tb *testbed, s *standInServer) error {
				world = s.world
				done, err := tb.measureStandIn(ctx, c, s)
				all[c.name] = done
				if c.name == lockstepName && err == nil {
					all[floorName], err = tb.measureStandInFloor(ctx, s, done.read)
				}
				return err
			})
			if err != nil {
				return rows, fmt.Errorf("%s with %d pods: %w", c.name, pods, err)
			}
		}
		rows = append(rows, standInRows(world, all, first)...)
		if first == nil {
			first = all
		}
	}
	return rows, nil
}

// standInContenders returns the operators that are one process for all namespaces.
func (b *bench) standInContenders() []*contender {
	contenders := []*contender{{name: lockstepName, command: b.operator}}
	for _, c := range b.others {
		if strings.Contains(c.command, "{namespace}") {
			b.report("%s is one process for each namespace and is not measured with thousands of namespaces", c.name)
			continue
		}
		contenders = append(contenders, &contender{name: c.name, command: c.command})
	}
	return contenders
}

// standInServer is a stand-in that listens.
type standInServer struct {
	*standin.Server

	world  standin.World
	client kubernetes.Interface
}

// withStandIn starts a stand-in with this number of pods for a contender, and calls measure.
func (b *bench) withStandIn(ctx context.Context, c *contender, pods int, measure func(context.Context, *testbed, *standInServer) error) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	logs, discard, err := b.logFolder(fmt.Sprintf("stand-in-%d-%s", pods, c.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, discard()) }()
	a := &testbed{bench: b, logs: logs, abort: fail, contenders: []*contender{c}}
	if err := b.chooseProgram(ctx, c); err != nil {
		return err
	}
	s, stop, err := b.startStandIn(ctx, c, pods, filepath.Join(logs, "kubeconfig"))
	if err != nil {
		return err
	}
	defer stop()
	defer a.killProcesses()
	err = measure(ctx, a, s)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return err
}

// startStandIn starts a stand-in, writes a kubeconfig for the contender and returns a function that
// stops it.
func (b *bench) startStandIn(ctx context.Context, c *contender, pods int, kubeconfig string) (*standInServer, func(), error) {
	const each = largeZones * largePods
	s := &standInServer{world: standin.World{
		Groups: (pods + each - 1) / each, PerNamespace: groupsPerNamespace, Zones: largeZones, Pods: largePods,
		OptIn: map[string]string{"lockstep.dev/enabled": "true", contenderLabel: c.name}, Spec: podSpec,
	}}
	s.Server = standin.New(s.world)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start stand-in: %w", err)
	}
	server := &http.Server{Handler: s.Server, ReadHeaderTimeout: stallTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // the clients report the end of the server
	}()
	stop := func() {
		_ = server.Close() // connections that remain end with this process
		<-ended
		s.Wait()
	}
	url := "http://" + listener.Addr().String()
	c.kubeconfig = kubeconfig
	if s.client, err = kubernetes.NewForConfig(&rest.Config{
		Host: url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
	}); err == nil {
		err = writeKubeconfig(kubeconfig, url)
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("start stand-in: %w", err)
	}
	return s, stop, nil
}

func writeKubeconfig(path, url string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["stand-in"] = &clientcmdapi.Cluster{Server: url}
	c.Contexts["stand-in"] = &clientcmdapi.Context{Cluster: "stand-in"}
	c.CurrentContext = "stand-in"
	return clientcmd.WriteToFile(*c, path)
}

// measureStandIn starts a contender and changes one group after the other.
func (tb *testbed) measureStandIn(ctx context.Context, c *contender, s *standInServer) (standInResult, error) {
	var result standInResult
	var err error
	if result.read, err = readAll(ctx, s.client); err != nil {
		return result, err
	}
	began := time.Now()
	if err := tb.start(ctx, c, ""); err != nil {
		return result, err
	}
	if result.full, _, err = tb.awaitFullCaches(ctx, c, began); err != nil {
		return result, err
	}
	groups := s.Managed()
	pods := fmt.Sprint(len(groups)*largeZones*largePods, " pods of a stand-in")
	tb.report("%s: caches with %s full after %s, everything read in %s", c.name, pods, seconds(result.full), seconds(result.read))
	if result.memory, err = tb.measureMemory(ctx, c, pods, tb.standIn.settle); err != nil {
		return result, err
	}
	for n := range tb.standIn.changes {
		g := groups[n*len(groups)/tb.standIn.changes]
		took, err := tb.firstWrite(ctx, s, g, true)
		if err != nil {
			return result, fmt.Errorf("change %d of %d: %w", n+1, tb.standIn.changes, err)
		}
		result.writes = append(result.writes, took)
	}
	tb.report("%s: change to first write with %s %s", c.name, pods, milliseconds(median(result.writes), quantile(result.writes, 0.99)))
	return result, nil
}

// betweenChanges is the pause between two changes.
const betweenChanges = 50 * time.Millisecond

// firstWrite changes a group and returns the time until the first write for it. If a contender rolls
// the group, it waits for the end of the rollout.
func (tb *testbed) firstWrite(ctx context.Context, s *standInServer, g standin.Group, rolls bool) (time.Duration, error) {
	const pollEvery = 2 * time.Millisecond
	if err := pause(ctx, betweenChanges); err != nil {
		return 0, err
	}
	at := s.Change(g)
	for time.Since(at) < stallTimeout {
		first, some := s.FirstWrite(g.Namespace, at)
		if some && (!rolls || s.IsUpdated(g)) {
			return first.At.Sub(at), nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s/%s is not rolled after %s", g.Namespace, g.Name, stallTimeout)
}
