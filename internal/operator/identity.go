package operator

import (
	"crypto/rand"
	"fmt"
	"os"
)

// identity returns a name for this process: its host name and a random part, because a host name
// may be used again.
func identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read host name: %w", err)
	}
	return host + "_" + rand.Text()[:8], nil
}
