package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommitOfMarksModifiedTree(t *testing.T) {
	folder := t.TempDir()
	git := func(arguments ...string) string {
		t.Helper()
		identity := []string{"-C", folder, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}
		out, err := exec.CommandContext(t.Context(), "git", append(identity, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", arguments, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := commitOf(t.Context(), folder); !strings.Contains(got, "unknown commit") {
		t.Errorf("without a commit: %s", got)
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	commit := git("rev-parse", "--short", "HEAD")
	if got := commitOf(t.Context(), folder); got != commit {
		t.Errorf("got %s, want %s", got, commit)
	}
	if err := os.WriteFile(filepath.Join(folder, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := commitOf(t.Context(), folder); got != commit+"+" {
		t.Errorf("with a new file: %s", got)
	}
}

func TestCommandOfQuotesArguments(t *testing.T) {
	for want, arguments := range map[string][]string{
		"make bench": nil,
		"make bench BENCH_FLAGS='-only memory -memory.pods 1000,5000'":           {"-only", "memory", "-memory.pods", "1000,5000"},
		`make bench BENCH_FLAGS='-contender "other=bin/x -config={kubeconfig}"'`: {"-contender", "other=bin/x -config={kubeconfig}"},
	} {
		if got := commandOf(arguments); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestFlagsAmongMatchesEntireNames(t *testing.T) {
	words := []string{"--max-requests-inflight=2000", "--unsafe-no-fsync", "--max-requests", "--max-requests-inflight-not=1"}
	if got := flagsAmong(words, []string{"--max-requests-inflight", "--absent"}); got != "--max-requests-inflight=2000" {
		t.Errorf("got %q", got)
	}
	if got := flagsAmong(words, []string{noSyncFlag}); got != noSyncFlag {
		t.Errorf("got %q", got)
	}
}

func TestHeadingNamesConditions(t *testing.T) {
	c := conditions{
		date: "2030-01-01", commit: "abc1234+", command: "make bench", machine: "2 cores", load: "0.07", versions: []string{"etcd 1.2.3", "Go 4.5"},
		tuning: []tuning{{"etcd", noSyncFlag}, {"API server", "--max-requests-inflight=2000"}},
	}
	got := c.heading()
	for _, line := range []string{
		"| machine | 2 cores |\n", "| versions | etcd 1.2.3, Go 4.5 |\n",
		"| etcd | never waits for the disk (`--unsafe-no-fsync`): writes are faster than on a usual cluster |\n",
		"| API server | more at a time than usual (`--max-requests-inflight=2000`) |\n",
		"\n\nMeasured on 2030-01-01 at abc1234+, load average 0.07 before, with `make bench`:\n\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	c.tuning[0].flags = ""
	if got := c.heading(); !strings.Contains(got, "| etcd | waits for the disk with every write, as usual |\n") {
		t.Errorf("got\n%s", got)
	}
	c.tuning = nil
	if got := c.heading(); strings.Contains(got, "etcd |") || !strings.Contains(got, "with the stand-in for the API server") {
		t.Errorf("without a cluster:\n%s", got)
	}
}

func TestVersionIn(t *testing.T) {
	for text, want := range map[string]string{`{"etcdserver":"3.6.8","etcdcluster":"3.6.0"}`: "3.6.8", "kwok version v0.8.0 go1.26.8": "0.8.0"} {
		if got, err := versionIn(text); err != nil || got != want {
			t.Errorf("got %s, %v", got, err)
		}
	}
	if got, err := versionIn("unknown"); err == nil {
		t.Errorf("got %q without one", got)
	}
}
