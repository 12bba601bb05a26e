// Command write writes the images of the suite on real nodes into a folder, as files for "docker
// load", "kind load image-archive" and "ctr images import".
//
//	go run ./images/write DIR
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./images/write DIR, in the folder integration-tests")
		os.Exit(2)
	}
	if err := images.Write(context.Background(), "..", os.Args[1], images.All...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
