package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
)

// reloadInterval is the minimum time between reads of the certificate files. A
// connecting client triggers them, so no goroutine runs in the background.
const reloadInterval = 2 * time.Second

// certificates hold the TLS configuration of the public listener and follow the files: new
// connections use a new pair at once. It is nil for plain HTTP.
type certificates struct {
	cfg config.Config
	log zerolog.Logger

	mu      sync.Mutex
	checked time.Time
	seen    pemFiles
	current *tls.Config
}

// pemFiles are the file contents, or the read failure.
type pemFiles struct{ cert, key, clientCA, failure string }

func newCertificates(cfg config.Config, log zerolog.Logger) (*certificates, error) {
	if cfg.TLSCert == "" {
		return nil, nil
	}
	c := &certificates{cfg: cfg, log: log, checked: time.Now(), seen: readFiles(cfg)}
	var err error
	if c.current, err = c.seen.parse(c.needsClients()); err != nil {
		return nil, fmt.Errorf("cannot use the TLS files: %w", err)
	}
	return c, nil
}

// needsClients reports whether callers with the role system need a certificate.
func (c *certificates) needsClients() bool { return c != nil && c.cfg.TLSClientCA != "" }

// serve serves on the public listener until the server closes.
func (c *certificates) serve(server *http.Server, ln net.Listener) error {
	if c == nil {
		return server.Serve(ln)
	}
	server.TLSConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.latest(), nil },
	}
	return server.ServeTLS(ln, "", "")
}

// latest returns the configuration in the files, or the previous one if the new files
// cannot be used.
func (c *certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) >= reloadInterval {
		c.reload()
		c.checked = time.Now()
	}
	return c.current
}

// reload compares contents instead of times, so that it detects every change: a
// rewritten or renamed file, or a replaced symbolic link. It logs each change once.
func (c *certificates) reload() {
	files := readFiles(c.cfg)
	if files == c.seen {
		return
	}
	c.seen = files
	fresh, err := files.parse(c.needsClients())
	if err != nil {
		c.log.Error().Err(err).Msg("tls certificate reload failed")
		return
	}
	c.current = fresh
	c.log.Info().Time("not_after", fresh.Certificates[0].Leaf.NotAfter).Msg("tls certificate reloaded")
}

// admits reports whether a connection has a valid client certificate. Connections live
// long, so it checks again after the handshake: the certificate may have expired, and
// the CA may have been replaced.
func (c *certificates) admits(conn *tls.ConnectionState) bool {
	return conn != nil && slices.ContainsFunc(conn.VerifiedChains, func(chain []*x509.Certificate) bool {
		return isValidAt(time.Now(), chain, c.latest().ClientCAs)
	})
}

// isValidAt checks a previously verified chain, and therefore no signature.
func isValidAt(now time.Time, chain []*x509.Certificate, roots *x509.CertPool) bool {
	for _, cert := range chain {
		if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
			return false
		}
	}
	_, err := chain[len(chain)-1].Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil
}

func readFiles(cfg config.Config) pemFiles {
	var failed error
	read := func(path string) string {
		if path == "" {
			return ""
		}
		text, err := os.ReadFile(path)
		failed = errors.Join(failed, err)
		return string(text)
	}
	f := pemFiles{cert: read(cfg.TLSCert), key: read(cfg.TLSKey), clientCA: read(cfg.TLSClientCA)}
	if failed != nil {
		f.failure = failed.Error()
	}
	return f
}

// parse builds the TLS configuration.
func (f pemFiles) parse(withClients bool) (*tls.Config, error) {
	if f.failure != "" {
		return nil, errors.New(f.failure)
	}
	pair, err := tls.X509KeyPair([]byte(f.cert), []byte(f.key))
	if err != nil {
		return nil, fmt.Errorf("ORDERS_TLS_CERT and ORDERS_TLS_KEY: %w", err)
	}
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
	}
	if withClients {
		cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !cfg.ClientCAs.AppendCertsFromPEM([]byte(f.clientCA)) {
			return nil, errors.New("ORDERS_TLS_CLIENT_CA: the file contains no certificate")
		}
	}
	return cfg, nil
}
