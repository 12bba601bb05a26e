package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// testedFolders are the folders, relative to integration-tests, that determine the result of a seed:
// the operator, its manifests and the test code.
var testedFolders = []string{
	"../go.mod", "../go.sum", "../cmd", "../internal", "../manifests",
	"go.mod", "go.sum", "campaign", "child", "controlplane", "faultproxy", "judge", "localcluster", "upgrade", "wrongclock",
}

// codeOf returns a hash of the tested code: the files in git, uncommitted changes and, if given, the
// program of another operator.
func codeOf(ctx context.Context, program string) (string, error) {
	sum := sha256.New()
	if program != "" {
		content, err := os.ReadFile(program)
		if err != nil {
			return "", fmt.Errorf("read operator: %w", err)
		}
		sum.Write(content)
	}
	for _, args := range [][]string{
		{"ls-files", "--stage", "--"},
		{"diff", "--no-ext-diff", "HEAD", "--"},
	} {
		out, err := exec.CommandContext(ctx, "git", append(args, testedFolders...)...).Output()
		if err != nil {
			return "", fmt.Errorf("read the version of the source tree: git %s: %w", args[0], err)
		}
		sum.Write(out)
	}
	if err := addUntracked(ctx, sum); err != nil {
		return "", fmt.Errorf("read the version of the source tree: %w", err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// addUntracked adds the files that git neither tracks nor ignores.
func addUntracked(ctx context.Context, sum io.Writer) error {
	out, err := exec.CommandContext(ctx, "git", append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, testedFolders...)...).Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
	}
	return nil
}
