package operator

import (
	"crypto/rand"
	"fmt"
	"os"
)

// identity names this process: its host and something random, since a host
// name may come back.
func identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read host name: %w", err)
	}
	return host + "_" + rand.Text()[:8], nil
}
