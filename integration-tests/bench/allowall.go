package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// allowAllCommand runs this program as a webhook that allows everything, in a process of its own. It
// is the floor for webhooks.
const allowAllCommand = "allow-all"

// certFile and keyFile are the certificate and the key that both webhooks serve, in the folder of
// allowAll.
const certFile, keyFile = "tls.crt", "tls.key"

// allowAll serves until ctx ends, with the TLS settings of lockstep's webhooks. It logs its address in
// the same form as lockstep.
func allowAll(ctx context.Context, folder string, out io.Writer) error {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(folder, certFile), filepath.Join(folder, keyFile))
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: http.HandlerFunc(allow), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // ctx has ended, so an error does not matter
	fmt.Fprintf(out, "{\"msg\":%q,\"address\":%q}\n", servingWebhooks, listener.Addr())
	if err := server.ServeTLS(listener, "", ""); ctx.Err() == nil {
		return err
	}
	return nil
}

// allow parses only the fields of a review that the answer needs.
func allow(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Request    struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":%q,"response":{"uid":%q,"allowed":true}}`, review.APIVersion, review.Request.UID)
}

// startAllowAll starts the floor's webhook with a certificate.
func (tb *testbed) startAllowAll(ctx context.Context, cert, key []byte) error {
	for name, content := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(filepath.Join(tb.logs, name), content, 0o600); err != nil {
			return fmt.Errorf("keep certificate: %w", err)
		}
	}
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	p, err := startProcess(ctx, []string{own, allowAllCommand, tb.logs}, filepath.Join(tb.logs, "allow-all.log"), tb.abort)
	if err != nil {
		return fmt.Errorf("start the webhook that allows everything: %w", err)
	}
	tb.contenders[0].processes = append(tb.contenders[0].processes, p)
	return nil
}
