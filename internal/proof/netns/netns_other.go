//go:build !linux

package netns

import (
	"context"
	"errors"
)

var errLinuxOnly = errors.New("only Linux has network namespaces")

// Again returns that there is no such run.
func Again(context.Context) (code int, err error) { return 0, errLinuxOnly }

// Own returns that there is no such network.
func Own(...string) error { return errLinuxOnly }
