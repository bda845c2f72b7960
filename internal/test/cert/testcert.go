// Package testcert issues certificates for tests.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority is a test CA.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and the key in PEM.
type Pair struct{ Cert, Key []byte }

// NewAuthority returns a new CA, which is in no system's trust store.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	template := newTemplate(t, "authority", time.Now().Add(time.Hour))
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newKey(t)
	return &Authority{cert: sign(t, template, template, key, key), key: key}
}

// PEM returns the CA certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.cert.Raw) }

// Pool returns the CA for a client to trust.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Server issues a server certificate for loopback.
func (a *Authority) Server(t testing.TB) Pair {
	t.Helper()
	return a.issue(t, x509.ExtKeyUsageServerAuth, time.Now().Add(time.Hour))
}

// Client issues a client certificate that is valid until the given time.
func (a *Authority) Client(t testing.TB, until time.Time) Pair {
	t.Helper()
	return a.issue(t, x509.ExtKeyUsageClientAuth, until)
}

func (a *Authority) issue(t testing.TB, usage x509.ExtKeyUsage, until time.Time) Pair {
	t.Helper()
	template := newTemplate(t, "leaf", until)
	template.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	key := newKey(t)
	cert := sign(t, template, a.cert, key, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{Cert: encode("CERTIFICATE", cert.Raw), Key: encode("PRIVATE KEY", der)}
}

// TLS returns the pair for a TLS client or server.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func newTemplate(t testing.TB, name string, until time.Time) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name + " " + serial.String()},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
