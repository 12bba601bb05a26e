//go:build !linux

package hook_test

import "errors"

const inNamespace = "LOCKSTEP_TEST_IN_NETWORK_NAMESPACE"

func enterNamespace() (int, error) { return 0, errors.New("only Linux has network namespaces") }

func setUpNetwork() error { return errors.New("only Linux has network namespaces") }
