package apiserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// behind is how late an operator hears of what happens.
const behind = 2 * time.Second

func TestALateViewOfTheWorldBreaksNothing(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"statefulsets", "pods"} {
		for _, budget := range []string{"1", "2"} {
			t.Run(fmt.Sprintf("%s seen late, budget %s", late, budget), func(t *testing.T) {
				t.Parallel()
				s := unmanaged(t)
				s.rules.grace = defaultGrace + behind
				s.create(zone("zone-a", 3, maxUnavailable(budget)), zone("zone-b", 2, maxUnavailable(budget)))
				s.withRole()
				s.startOperatorWith(s.lateWatches(late), "-leader-election.enabled=false")
				s.changeAll(version(2))
				s.settled()
				s.wantEachOnce()
			})
		}
	}
}

func TestALateViewOfPodsSurvivesADrainAndANewTemplate(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules = rules{grace: defaultGrace + behind, unordered: true}
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.withRole()
	s.startOperatorWith(s.lateWatches("pods"), "-leader-election.enabled=false")
	s.changeAll(version(2))
	s.awaitDeletion("zone-a-0")
	s.deletePod("zone-b-1")
	s.changeAll(version(3))
	s.settled()
}

// lateWatches is a kubeconfig that leads to the API server through a proxy. What
// watches of one resource tell, it hands on late, and everything else at once.
func (s *scene) lateWatches(resource string) string {
	s.t.Helper()
	var watches atomic.Int64
	direct := s.world.cluster.AdminConfig() // for address and CA; the operator shows its own token
	target, err := url.Parse(direct.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(direct.CAData)
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, MaxIdleConnsPerHost: 50},
		ErrorLog:      log.New(io.Discard, "", 0), // of a killed operator's connections
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Query().Has("watch") && strings.HasSuffix(r.Request.URL.Path, "/"+resource) {
				watches.Add(1)
				r.Body = newLateBody(r.Body, behind)
			}
			return nil
		},
	})
	s.t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		if watches.Load() == 0 {
			s.t.Errorf("no watch of %s came through the proxy, so nothing was late", resource)
		}
	})
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	return s.redirected(proxy.URL, certificate)
}

// redirected is the scene's kubeconfig with another server.
func (s *scene) redirected(server string, authority []byte) string {
	s.t.Helper()
	config, err := clientcmd.LoadFromFile(s.kubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = server, authority
	}
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// lateBody reads ahead and gives each piece away when it is old enough.
type lateBody struct {
	from   io.ReadCloser
	delay  time.Duration
	pieces chan piece
	rest   []byte
	closed chan struct{}
}

type piece struct {
	due  time.Time
	data []byte
	err  error
}

func newLateBody(from io.ReadCloser, delay time.Duration) *lateBody {
	b := &lateBody{from: from, delay: delay, pieces: make(chan piece, 1<<16), closed: make(chan struct{})}
	go b.readAhead()
	return b
}

func (b *lateBody) readAhead() {
	defer close(b.pieces)
	for {
		data := make([]byte, 32<<10)
		n, err := b.from.Read(data)
		select {
		case b.pieces <- piece{time.Now().Add(b.delay), data[:n], err}:
		case <-b.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (b *lateBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		select {
		case next, more := <-b.pieces:
			if !more {
				return 0, io.EOF
			}
			select {
			case <-time.After(time.Until(next.due)):
			case <-b.closed:
				return 0, io.ErrClosedPipe
			}
			if len(next.data) == 0 {
				return 0, next.err
			}
			b.rest = next.data
		case <-b.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *lateBody) Close() error {
	close(b.closed)
	return b.from.Close()
}
