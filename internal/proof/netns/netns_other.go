//go:build !linux

package netns

import (
	"context"
	"errors"
)

var errLinuxOnly = errors.New("only Linux has network namespaces")

// Again returns an error: only Linux has network namespaces.
func Again(context.Context) (code int, err error) { return 0, errLinuxOnly }

// Own returns an error: only Linux has network namespaces.
func Own(...string) error { return errLinuxOnly }
