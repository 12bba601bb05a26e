//go:build !linux

package apiserver_test

import "errors"

var errNoNamespaces = errors.New("this system has no network namespaces")

func runInOwnNetwork() (int, error) { return 0, errNoNamespaces }

func setUpNetwork() error { return errNoNamespaces }
