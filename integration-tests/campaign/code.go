package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
)

// tried are the folders, seen from integration-tests, that decide what comes of a
// seed: the operator, its manifests, and what tries it.
var tried = []string{
	"../go.mod", "../go.sum", "../cmd", "../internal", "../manifests",
	"go.mod", "go.sum", "campaign", "controlplane", "faultproxy", "judge", "localcluster", "upgrade",
}

// codeOf names the state of all that is tried, as git has it, with what is not
// committed yet.
func codeOf(ctx context.Context) (string, error) {
	sum := sha256.New()
	for _, args := range [][]string{
		{"ls-files", "--stage", "--"},
		{"diff", "--no-ext-diff", "--"},
	} {
		out, err := exec.CommandContext(ctx, "git", append(args, tried...)...).Output()
		if err != nil {
			return "", fmt.Errorf("ask git what is tried: git %s: %w", args[0], err)
		}
		sum.Write(out)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}
