package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// trial is a scene with operators of its own that guard its downscales. Both connections can fail:
// operators reach the API server through a proxy, and the API server reaches them through a
// service.
type trial struct {
	*scene
	proxy      *faultproxy.Proxy
	kubeconfig string
	service    *service
	args       []string // of every operator
}

// onTrial returns a trial without an operator. Pods answer.
func onTrial(t *testing.T, args ...string) *trial {
	t.Helper()
	needsNetwork(t)
	if _, err := theVoices(); err != nil {
		t.Fatal(err)
	}
	s := unmanaged(t)
	s.rules.guarded = true
	s.withRole()
	s.withCertificate()
	c := &trial{scene: s, service: newService(s)}
	c.args = slices.Concat(serveWebhooks(), []string{"-webhooks.update-ca-bundle=false"}, args)
	c.proxy, c.kubeconfig = s.proxied()
	return c
}

// start starts an operator, which the API server calls from then on.
func (c *trial) start() *operator {
	c.t.Helper()
	op := c.startOperatorWith(c.kubeconfig, c.args...)
	c.service.leadTo(webhookAddress(c.t, op))
	return op
}

// isCalled makes the API server call the operator about downscales.
func (c *trial) isCalled() {
	c.t.Helper()
	c.wantOneCA([]*operator{c.operator})
	c.guardedAt(c.service.address, c.secret().Data["ca"])
}

// beginner is an operator that is not ready yet.
type beginner struct {
	*trial
	log  *lockedBuffer
	over chan struct{}
	op   *operator
	err  error
}

// begins starts an operator that cannot become ready yet, and makes the API server call it
// nevertheless. The test must let it become ready in time.
func (c *trial) begins() *beginner {
	c.t.Helper()
	b := &beginner{trial: c, log: &lockedBuffer{}, over: make(chan struct{})}
	ctx, stop := context.WithCancel(c.t.Context())
	own := []string{"-log.level=debug", "-kubernetes.namespace=" + c.name, "-operator.namespace=" + c.name}
	go func() {
		defer close(b.over)
		process, err := localcluster.StartOperator(ctx, localcluster.OperatorOptions{
			Kubeconfig: c.kubeconfig, Program: c.world.program, Args: append(own, c.args...), Log: b.log, StartTimeout: longPatience,
		})
		b.op, b.err = &operator{Operator: process, user: c.own.User}, err
	}()
	c.t.Cleanup(func() {
		stop()
		<-b.over
		if b.err == nil {
			b.op.Kill()
		}
	})
	c.eventually("the operator listens", func(present) error {
		if addressIn(b.log.String(), "serving webhooks") == "" {
			return errors.New(b.log.String())
		}
		return nil
	})
	c.service.leadTo(addressIn(b.log.String(), "serving webhooks"))
	return b
}

// ready waits until the operator is ready.
func (b *beginner) ready() {
	b.t.Helper()
	select {
	case <-b.over:
	case <-b.t.Context().Done():
		b.t.Fatal("it was not ready when the test ended")
	}
	if b.err != nil {
		b.t.Fatal(b.err)
	}
	b.operator = b.op
}

// get returns the operator's answer on a path, and the status code.
func (b *beginner) get(path string) (int, string) {
	return get("http://" + addressIn(b.log.String(), "listening") + path)
}

// service forwards connections to operators, like a Service.
type service struct {
	address string

	mu   sync.Mutex
	to   string
	open map[net.Conn]bool
}

func newService(s *scene) *service {
	s.t.Helper()
	v := &service{open: map[net.Conn]bool{}}
	v.address = s.accepts(v.connect)
	return v
}

func (v *service) connect(in net.Conn) {
	v.mu.Lock()
	to := v.to
	v.open[in] = true
	v.mu.Unlock()
	pass(in, to)
	v.mu.Lock()
	delete(v.open, in)
	v.mu.Unlock()
}

// leadTo makes new connections lead to an address, and cuts existing ones.
func (v *service) leadTo(address string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.to = address
	for in := range v.open {
		_ = in.Close() // it fails only if the connection has already ended
	}
}

// lockedBuffer can be written while it is read.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
