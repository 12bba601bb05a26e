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

// tried are the folders, seen from integration-tests, that decide what comes of a
// seed: the operator, its manifests, and what tries it.
var tried = []string{
	"../go.mod", "../go.sum", "../cmd", "../internal", "../manifests",
	"go.mod", "go.sum", "campaign", "child", "controlplane", "faultproxy", "judge", "localcluster", "upgrade", "wrongclock",
}

// codeOf names the state of all that is tried, as git has it, with what is not
// committed yet, and with the program of an operator from elsewhere.
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
		out, err := exec.CommandContext(ctx, "git", append(args, tried...)...).Output()
		if err != nil {
			return "", fmt.Errorf("ask git what is tried: git %s: %w", args[0], err)
		}
		sum.Write(out)
	}
	if err := addUntracked(ctx, sum); err != nil {
		return "", fmt.Errorf("ask git what is tried: %w", err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// addUntracked adds files that git does not know yet, and does not ignore.
func addUntracked(ctx context.Context, sum io.Writer) error {
	out, err := exec.CommandContext(ctx, "git", append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, tried...)...).Output()
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
