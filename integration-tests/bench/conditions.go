package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// conditions are the circumstances that affect the figures. The heading lists them above the table.
type conditions struct {
	date     string // date of the run
	commit   string // of this source tree, with a plus if a file is modified
	command  string // that prints the same table
	machine  string
	load     string // load average of the machine when the run began
	versions []string
	tuning   []tuning // empty if no cluster was started
}

// tuning lists the flags of one program that differ from a usual cluster.
type tuning struct{ title, flags string }

// conditionsOf returns the conditions that are known before the measurements.
func conditionsOf(ctx context.Context, began time.Time, arguments []string) conditions {
	c := conditions{
		date: began.UTC().Format(time.DateOnly), commit: commitOf(ctx, ".."), command: commandOf(arguments), machine: machine(), load: loadAverage(),
		versions: []string{"Go " + strings.TrimPrefix(runtime.Version(), "go")},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/client-go" {
				c.versions = append([]string{"client-go " + strings.TrimPrefix(module.Version, "v")}, c.versions...)
			}
		}
	}
	return c
}

// commitOf returns the commit of a source tree, with a plus if a file is modified.
func commitOf(ctx context.Context, folder string) string {
	git := func(arguments ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, arguments...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown commit (" + err.Error() + ")"
	}
	if changed, err := git("status", "--porcelain"); err != nil || changed != "" {
		commit += "+"
	}
	return commit
}

// commandOf returns the make command that has the same arguments.
func commandOf(arguments []string) string {
	if len(arguments) == 0 {
		return "make bench"
	}
	words := slices.Clone(arguments)
	for i, word := range words {
		if strings.ContainsAny(word, " {}*?$&;|<>") {
			words[i] = strconv.Quote(word)
		}
	}
	return "make bench BENCH_FLAGS='" + strings.Join(words, " ") + "'"
}

// machine describes this machine.
func machine() string {
	var all strings.Builder
	fmt.Fprintf(&all, "%d cores", runtime.NumCPU())
	for _, one := range []struct {
		file, line string
		show       func(string) string
	}{
		{"/proc/cpuinfo", `model name\s*: (.+)`, func(name string) string { return " (" + name + ")" }},
		{"/proc/meminfo", `MemTotal:\s*(\d+) kB`, func(size string) string { return ", " + gigabytes(size) + " GB" }},
		{"/proc/sys/kernel/osrelease", `(\d+\.\d+)`, func(version string) string { return "; Linux " + version }},
	} {
		text, err := os.ReadFile(one.file)
		if err != nil {
			continue // not Linux
		}
		if parts := regexp.MustCompile(one.line).FindStringSubmatch(string(text)); parts != nil {
			all.WriteString(one.show(parts[1]))
		}
	}
	return all.String()
}

// loadAverage returns the load average of one minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func gigabytes(kilobytes string) string {
	n, _ := strconv.Atoi(kilobytes)
	return strconv.Itoa(n >> 20)
}

// addCluster adds the versions and the tuning of a cluster. All clusters of a run are alike.
func (c *conditions) addCluster(ctx context.Context, cluster *localcluster.Cluster, client kubernetes.Interface) error {
	if len(c.tuning) > 0 {
		return nil
	}
	server, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("read the version of the API server: %w", err)
	}
	etcd, err := etcdVersion(ctx, cluster.EtcdURL())
	if err != nil {
		return fmt.Errorf("read the version of etcd: %w", err)
	}
	kubelet, err := kubeletVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the version of the simulated kubelet: %w", err)
	}
	c.versions = append([]string{"kube-apiserver " + strings.TrimPrefix(server.GitVersion, "v"), "etcd " + etcd, "kwok " + kubelet}, c.versions...)
	c.tuning, err = tuningOf(cluster.Dir())
	return err
}

func etcdVersion(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/version", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	return versionIn(string(text))
}

func kubeletVersion(ctx context.Context) (string, error) {
	program, err := localcluster.Program(ctx, "kwok", nil)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", err
	}
	return versionIn(string(out))
}

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+`)

// versionIn returns the first version in a text.
func versionIn(text string) (string, error) {
	if version := versionNumber.FindString(text); version != "" {
		return version, nil
	}
	return "", fmt.Errorf("no version in %q", text)
}

// noSyncFlag makes etcd not wait for the disk.
const noSyncFlag = "--unsafe-no-fsync"

// tunedFlags are the flags that make a small cluster on one machine faster than a usual one, by
// program.
var tunedFlags = []struct{ title, program, flags string }{
	{"etcd", "etcd", noSyncFlag},
	{"API server", "kube-apiserver", "--max-requests-inflight --max-mutating-requests-inflight"},
	{"controllers", "kube-controller-manager", "--kube-api-qps --kube-api-burst --concurrent-statefulset-syncs"},
}

// tuningOf reads the command lines of the programs that use a cluster's folder.
func tuningOf(folder string) ([]tuning, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	programs := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), folder) {
			continue // the process ended, or belongs to another user
		}
		words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		programs[filepath.Base(words[0])] = words[1:]
	}
	var all []tuning
	for _, u := range tunedFlags {
		words, found := programs[u.program]
		if !found {
			return nil, fmt.Errorf("read the flags of %s: it is not running", u.program)
		}
		all = append(all, tuning{u.title, flagsAmong(words, strings.Fields(u.flags))})
	}
	return all, nil
}

// inMemory reports whether a folder is on a file system in memory.
func inMemory(folder string) bool {
	const tmpfs = 0x01021994 // its number in statfs(2)
	var is syscall.Statfs_t
	return syscall.Statfs(folder, &is) == nil && is.Type == tmpfs
}

// flagsAmong returns the flags of a command line that have one of the names.
func flagsAmong(words, names []string) string {
	var found []string
	for _, word := range words {
		if name, _, _ := strings.Cut(word, "="); slices.Contains(names, name) {
			found = append(found, word)
		}
	}
	return strings.Join(found, " ")
}
