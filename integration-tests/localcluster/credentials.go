package localcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users of a local cluster. All of them have all permissions. Their names distinguish them in
// the audit log.
const (
	adminUser             = "admin"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
	kubeletUser           = "simulated-kubelet"
)

// credentials are a cluster's secrets. Each cluster has new ones.
type credentials struct {
	tokens map[string]string // by user
	ca     []byte            // certificate in PEM format
}

// Files that newCredentials writes into the cluster's folder.
const (
	caFile             = "ca.crt"
	servingCertFile    = "apiserver.crt"
	servingKeyFile     = "apiserver.key"
	serviceAccountFile = "service-account.key"
	tokensFile         = "tokens.csv"
)

func newCredentials(r *room, address string) (*credentials, error) {
	c := &credentials{tokens: map[string]string{}}
	if err := c.writeCertificates(r, net.ParseIP(address)); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	if err := writeServiceAccountKey(r); err != nil {
		return nil, fmt.Errorf("make service account key: %w", err)
	}
	var table []byte
	for _, user := range []string{adminUser, controllerManagerUser, schedulerUser, kubeletUser} {
		c.tokens[user] = rand.Text()
		table = fmt.Appendf(table, "%s,%s,%s,system:masters\n", c.tokens[user], user, user)
	}
	return c, r.write(tokensFile, table)
}

func (c *credentials) writeCertificates(r *room, address net.IP) error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := certificate("lockstep local cluster")
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serving := certificate("kube-apiserver")
	serving.KeyUsage = x509.KeyUsageDigitalSignature
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.IPAddresses = []net.IP{address, net.IPv4(10, 96, 0, 1)}
	serving.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	servingDER, err := x509.CreateCertificate(rand.Reader, serving, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}

	c.ca = encode("CERTIFICATE", caDER)
	if err := r.write(caFile, c.ca); err != nil {
		return err
	}
	if err := r.write(servingCertFile, encode("CERTIFICATE", servingDER)); err != nil {
		return err
	}
	return r.write(servingKeyFile, encode("PRIVATE KEY", keyDER))
}

func writeServiceAccountKey(r *room) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	return r.write(serviceAccountFile, encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(365 * 24 * time.Hour),
		BasicConstraintsValid: true,
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// kubeconfig returns the file for one user of the API server at url.
func kubeconfig(url string, ca []byte, user, token, namespace string) ([]byte, error) {
	const cluster = "lockstep-local"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{cluster: {Server: url, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{cluster: {Cluster: cluster, AuthInfo: user, Namespace: namespace}},
		CurrentContext: cluster,
	})
}
