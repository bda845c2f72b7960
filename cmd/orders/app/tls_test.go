package app

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	testcert "example.com/orders/internal/test/cert"
	testwait "example.com/orders/internal/test/wait"
)

// A connection can be older than its certificate may be used.
func TestClientCertificate_IsCheckedForAsLongAsItsConnectionIsOpen(t *testing.T) {
	t.Parallel()
	ca, now := testcert.NewAuthority(t), time.Now()
	leaf := ca.Client(t, now.Add(10*time.Minute)).TLS(t).Leaf
	chains, err := leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		after time.Duration
		roots *x509.CertPool
		want  bool
	}{
		"at once":              {0, ca.Pool(), true},
		"expired":              {11 * time.Minute, ca.Pool(), false},
		"CA expired":           {2 * time.Hour, ca.Pool(), false},
		"CA replaced":          {0, testcert.NewAuthority(t).Pool(), false},
		"clock before its day": {-24 * time.Hour, ca.Pool(), false},
	} {
		if got := isValidAt(now.Add(c.after), chains[0], c.roots); got != c.want {
			t.Errorf("%s: valid = %v, want %v", name, got, c.want)
		}
	}
}

// newTestCertificates returns certificates with files of their own, and their CA.
func newTestCertificates(t *testing.T, log zerolog.Logger) (*certificates, *testcert.Authority) {
	t.Helper()
	ca, dir := testcert.NewAuthority(t), t.TempDir()
	pair := ca.Server(t)
	cfg := config.Config{TLSCert: filepath.Join(dir, "tls.crt"), TLSKey: filepath.Join(dir, "tls.key")}
	for path, content := range map[string][]byte{cfg.TLSCert: pair.Cert, cfg.TLSKey: pair.Key} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certs, err := newCertificates(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	return certs, ca
}

func TestCertificates_LogAChangeThatCannotBeUsedOnce(t *testing.T) {
	t.Parallel()
	var log logBuffer
	certs, _ := newTestCertificates(t, zerolog.New(&log))
	before := certs.latest()
	if err := os.WriteFile(certs.cfg.TLSKey, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		certs.checked = time.Time{} // the interval has passed
		if certs.latest() != before {
			t.Error("the pair that works is not in use any more")
		}
	}
	lines := log.lines(t)
	if len(lines) != 1 || lines[0]["message"] != "tls certificate reload failed" {
		t.Errorf("the log is %v, want one failure", lines)
	}
}

// serveTLS serves as the public listener does with a certificate. It returns a connection
// of a client that speaks HTTP/2.
func serveTLS(t *testing.T, server *http.Server) *tls.Conn {
	t.Helper()
	certs, ca := newTestCertificates(t, zerolog.Nop())
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = certs.serve(server, ln) }() // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*tls.Conn)
}

// The types of HTTP/2 frames and the settings that the tests use (RFC 9113).
const (
	headersFrame, settingsFrame, windowUpdateFrame = 0x1, 0x4, 0x8

	maxConcurrentStreams, initialWindowSize = 0x3, 0x4
)

// frame returns an HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	header := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	header = append(header, flags)
	return append(binary.BigEndian.AppendUint32(header, stream), payload...)
}

// setting returns one entry of a SETTINGS frame.
func setting(id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, id), value)
}

// begin begins HTTP/2 with these settings of the client.
func begin(t *testing.T, conn io.Writer, settings []byte, frames ...[]byte) {
	t.Helper()
	text := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(settingsFrame, 0, 0, settings)...)
	for _, f := range frames {
		text = append(text, f...)
	}
	if _, err := conn.Write(text); err != nil {
		t.Fatal(err)
	}
}

func TestServer_LimitsTheStreamsOfAnHTTP2Connection(t *testing.T) {
	t.Parallel()
	conn := serveTLS(t, server(http.NotFoundHandler(), zerolog.Nop()))
	begin(t, conn, nil)
	header := make([]byte, 9) // the server begins with its settings
	if _, err := io.ReadFull(conn, header); err != nil || header[3] != settingsFrame {
		t.Fatalf("the first frame is %x, %v", header, err)
	}
	entries := make([]byte, binary.BigEndian.Uint32(header[:4])>>8)
	if _, err := io.ReadFull(conn, entries); err != nil {
		t.Fatal(err)
	}
	limit := uint32(0)
	for ; len(entries) >= 6; entries = entries[6:] {
		if binary.BigEndian.Uint16(entries) == maxConcurrentStreams {
			limit = binary.BigEndian.Uint32(entries[2:])
		}
	}
	if limit != 100 {
		t.Errorf("a connection may have %d streams, want 100", limit)
	}
}

// A client that asks for much and reads nothing would keep its request for ever.
func TestServer_EndsHTTP2ClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	served := server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for block := make([]byte, 1<<20); err == nil; {
			_, err = w.Write(block)
		}
		ended <- err
	}), zerolog.Nop())
	if served.HTTP2.WriteByteTimeout <= 0 {
		t.Fatal("a client may read nothing for ever")
	}
	served.HTTP2.WriteByteTimeout = 100 * time.Millisecond
	conn := serveTLS(t, served)
	const window = 1<<31 - 1
	begin(t, conn, setting(initialWindowSize, window),
		frame(windowUpdateFrame, 0, 0, binary.BigEndian.AppendUint32(nil, window-65535)),
		// The header is complete and the last frame: GET https://orders/.
		frame(headersFrame, 0x5, 1, append([]byte{0x82, 0x87, 0x84, 0x41, 6}, "orders"...)))
	select {
	case err := <-ended:
		t.Logf("the request ended: %v", err)
	case <-time.After(testwait.Patience / 2): // WriteTimeout ends the request later than that
		t.Error("the request of a client that does not read has not ended")
	}
}
