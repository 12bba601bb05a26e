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

// groupsPerNamespace of the stand-in.
const groupsPerNamespace = 5

// reaction is how somebody did against the stand-in.
type reaction struct {
	full, read time.Duration   // until caches were full, and what the floor took
	memory     occupied        // of the floor: none
	writes     []time.Duration // from a change of one group to the first write for it
}

// standIns measures every operator against an API server that is played in this
// process, with ever more pods.
func (b *bench) standIns(ctx context.Context) ([]row, error) {
	var rows []row
	var first map[string]reaction
	racers := b.standInRacers()
	for _, pods := range b.standIn.pods {
		all := map[string]reaction{}
		var world standin.World
		for _, r := range racers {
			err := b.besideStandIn(ctx, r, pods, func(ctx context.Context, a *arena, s *stage) error {
				world = s.world
				done, err := a.react(ctx, r, s)
				all[r.name] = done
				if r.name == lockstepName && err == nil {
					all[floorName], err = a.reactBarely(ctx, s, done.read)
				}
				return err
			})
			if err != nil {
				return rows, fmt.Errorf("%s with %d pods: %w", r.name, pods, err)
			}
		}
		rows = append(rows, standInRows(world, all, first)...)
		if first == nil {
			first = all
		}
	}
	return rows, nil
}

// standInRacers are those that are one process for all namespaces.
func (b *bench) standInRacers() []*racer {
	racers := []*racer{{name: lockstepName, command: b.operator}}
	for _, c := range b.contenders {
		if strings.Contains(c.command, "{namespace}") {
			b.say("%s is one process for each namespace, and is not measured with thousands of these", c.name)
			continue
		}
		racers = append(racers, &racer{name: c.name, command: c.command})
	}
	return racers
}

// stage is a stand-in that listens.
type stage struct {
	*standin.Server

	world  standin.World
	client kubernetes.Interface
}

// besideStandIn plays an API server with so many pods for a racer and somebody who
// measures him.
func (b *bench) besideStandIn(ctx context.Context, r *racer, pods int, measure func(context.Context, *arena, *stage) error) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	logs, discard, err := b.folderForLogs(fmt.Sprintf("stand-in-%d-%s", pods, r.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, discard()) }()
	a := &arena{bench: b, logs: logs, fail: fail, racers: []*racer{r}}
	if err := b.chooseProgram(ctx, r); err != nil {
		return err
	}
	s, stop, err := b.playStandIn(ctx, r, pods, filepath.Join(logs, "kubeconfig"))
	if err != nil {
		return err
	}
	defer stop()
	defer a.endProcesses()
	err = measure(ctx, a, s)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return err
}

// playStandIn starts a stand-in, writes a kubeconfig for the racer and returns how to
// end it.
func (b *bench) playStandIn(ctx context.Context, r *racer, pods int, kubeconfig string) (*stage, func(), error) {
	const each = largeZones * largePods
	s := &stage{world: standin.World{
		Groups: (pods + each - 1) / each, PerNamespace: groupsPerNamespace, Zones: largeZones, Pods: largePods,
		OptIn: map[string]string{"lockstep.dev/enabled": "true", racerLabel: r.name}, Spec: podSpec,
	}}
	s.Server = standin.New(s.world)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("play an API server: %w", err)
	}
	server := &http.Server{Handler: s.Server, ReadHeaderTimeout: patience}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // whoever is measured tells that it is gone
	}()
	stop := func() {
		_ = server.Close() // what it could not close is gone with this process
		<-ended
		s.Wait()
	}
	url := "http://" + listener.Addr().String()
	r.kubeconfig = kubeconfig
	if s.client, err = kubernetes.NewForConfig(&rest.Config{
		Host: url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
	}); err == nil {
		err = writeKubeconfig(kubeconfig, url)
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("play an API server: %w", err)
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

// react starts a racer, and changes one group after the other.
func (a *arena) react(ctx context.Context, r *racer, s *stage) (reaction, error) {
	var done reaction
	var err error
	if done.read, err = readAll(ctx, s.client); err != nil {
		return done, err
	}
	began := time.Now()
	if err := a.start(ctx, r, ""); err != nil {
		return done, err
	}
	if done.full, _, err = a.filled(ctx, r, began); err != nil {
		return done, err
	}
	groups := s.Managed()
	pods := fmt.Sprint(len(groups)*largeZones*largePods, " pods of a stand-in")
	a.say("%s: caches with %s full after %s, everything read in %s", r.name, pods, seconds(done.full), seconds(done.read))
	if done.memory, err = a.occupies(ctx, r, pods, a.standIn.settle); err != nil {
		return done, err
	}
	for n := range a.standIn.changes {
		g := groups[n*len(groups)/a.standIn.changes]
		took, err := a.firstWrite(ctx, s, g, true)
		if err != nil {
			return done, fmt.Errorf("change %d of %d: %w", n+1, a.standIn.changes, err)
		}
		done.writes = append(done.writes, took)
	}
	a.say("%s: change to first write beside %s %s", r.name, pods, milliseconds(median(done.writes), quantile(done.writes, 0.99)))
	return done, nil
}

// betweenChanges is how long nothing happens between two changes.
const betweenChanges = 50 * time.Millisecond

// firstWrite changes a group and returns how long it took until the first write for
// it came. Where somebody rolls it, it waits until that is done.
func (a *arena) firstWrite(ctx context.Context, s *stage, g standin.Group, rolls bool) (time.Duration, error) {
	const pollEvery = 2 * time.Millisecond
	if err := pause(ctx, betweenChanges); err != nil {
		return 0, err
	}
	at := s.Change(g)
	for time.Since(at) < patience {
		first, some := s.FirstWrite(g.Namespace, at)
		if some && (!rolls || s.Renewed(g)) {
			return first.At.Sub(at), nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s/%s is not rolled after %s", g.Namespace, g.Name, patience)
}
