package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// BuildFormerOperator returns the path of cmd/lockstep at a commit of this repository, by its full
// hash. The program is built once, without C, as images need it, and kept in the user's cache.
// Progress may be nil.
func BuildFormerOperator(ctx context.Context, commit string, progress io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	kept := filepath.Join(cache, "lockstep", "operator", runtime.GOOS+"-"+runtime.GOARCH+"-static", commit)
	if executable(kept) {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", fmt.Errorf("keep the former operator: %w", err)
	}
	program, err := buildFormer(ctx, commit, progress)
	if err != nil {
		return "", fmt.Errorf("build the operator of commit %s: %w", commit, err)
	}
	return kept, moveFile(program, kept)
}

func buildFormer(ctx context.Context, commit string, progress io.Writer) (_ string, err error) {
	repository, err := repositoryFolder()
	if err != nil {
		return "", err
	}
	room, err := newRoom()
	if err != nil {
		return "", err
	}
	tree := room.path("tree")
	if err := git(ctx, repository, "worktree", "add", "--detach", tree, commit); err != nil {
		return "", fmt.Errorf("%w (git fetch --unshallow brings what a shallow clone lacks)", err)
	}
	defer func() {
		err = errors.Join(err, git(context.WithoutCancel(ctx), repository, "worktree", "remove", "--force", tree), room.remove())
	}()
	return build(ctx, progress, tree, "the operator of commit "+commit[:min(7, len(commit))], "lockstep", building{env: static})
}

func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*"}, args...)...) // the repository may belong to another user
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}

// moveFile copies a program to a path where it appears only when it is complete.
func moveFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("keep %s: %w", to, err)
	}
	staging, err := os.CreateTemp(filepath.Dir(to), ".building-")
	if err != nil {
		return fmt.Errorf("keep %s: %w", to, err)
	}
	_, err = staging.Write(content)
	err = errors.Join(err, staging.Chmod(0o755), staging.Close())
	if err == nil {
		err = os.Rename(staging.Name(), to)
	}
	if err != nil {
		_ = os.Remove(staging.Name())
		return fmt.Errorf("keep %s: %w", to, err)
	}
	return nil
}
