package localcluster_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

func TestAWriteWaitsForTheDiskIfConfigured(t *testing.T) {
	t.Parallel()
	const writes = 5
	for sentence, syncs := range map[string]bool{"it does if requested": true, "it does not by itself": false} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			cluster := localcluster.For(t, localcluster.Options{EtcdSyncs: syncs})
			client := clientFor(t, cluster)
			before := syncsOf(t, cluster)
			for i := range writes {
				configMap(t, client, fmt.Sprint("written-", i))
			}
			waited := syncsOf(t, cluster) - before
			if syncs && waited < writes || !syncs && waited > 0 {
				t.Errorf("etcd waited for the disk %d times for %d writes", waited, writes)
			}
		})
	}
}

var syncsLine = regexp.MustCompile(`(?m)^etcd_disk_wal_fsync_duration_seconds_count (\d+)$`)

// syncsOf returns etcd's own count of its waits for the disk.
func syncsOf(t *testing.T, cluster *localcluster.Cluster) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cluster.EtcdURL()+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	parts := syncsLine.FindSubmatch(text)
	if parts == nil {
		t.Fatal("etcd does not report how often it waited for the disk")
	}
	n, err := strconv.Atoi(string(parts[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
