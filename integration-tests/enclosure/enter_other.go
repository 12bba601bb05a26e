//go:build !linux

package enclosure

import (
	"context"
	"errors"
)

var errLinuxOnly = errors.New("only Linux has namespaces")

// Missing returns that there is no such run.
func Missing() error { return errLinuxOnly }

// Enter returns that there is no such run.
func Enter(context.Context, func(dir string) error) (code int, err error) { return 0, errLinuxOnly }
