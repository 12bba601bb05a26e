//go:build !linux

package enclosure

import (
	"context"
	"errors"
)

var errLinuxOnly = errors.New("only Linux has namespaces")

// Missing returns an error, because enclosures need Linux.
func Missing() error { return errLinuxOnly }

// Enter returns an error, because enclosures need Linux.
func Enter(context.Context, func(dir string) error) (code int, err error) { return 0, errLinuxOnly }
