package webhooks_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"example.com/orders/internal/core/webhook"
)

// Kinds of attacks that only the connection refuses.
const (
	names          = "names"
	otherNotations = "other notations of IPv4"
	letters        = "letters that are folded to others"
	// neverResolved are names that Go asks no name server about, and a port that does not exist.
	neverResolved = "never resolved"
)

// attacks are URLs that lead, or seem to lead, to a network of ours. PORT is that of a
// listener on all loopback addresses.
var attacks = map[string][]string{
	"loopback": {
		"https://127.0.0.1:PORT/", "https://127.127.127.127:PORT/", "https://127.0.0.0:PORT/",
		"https://[::1]:PORT/", "https://[0:0:0:0:0:0:0:1]:PORT/",
		"https://0.0.0.0:PORT/", "https://[::]:PORT/", "https://[0000::1]:PORT/", "HTTPS://127.0.0.1:PORT/",
	},
	otherNotations: {
		"https://0x7f000001:PORT/", "https://0x7f.0.0.1:PORT/", "https://0x7f.1:PORT/", "https://0x41414141A9FEA9FE/",
		"https://0xA9.0xFE.0xA9.0xFE/", "https://0o177.0.0.1:PORT/",
	},
	neverResolved: {
		"https://2130706433:PORT/", "https://017700000001:PORT/", "https://0177.0.0.1:PORT/", "https://0000177.0000.000.01:PORT/",
		"https://127.1:PORT/", "https://127.0.1:PORT/", "https://0:PORT/", "https://127.0.0.1.:PORT/", "https://127.0.0.01:PORT/",
		"https://0251.254.169.254/", "https://425.510.425.510/", "https://7147006462/", "https://2852039166/",
		"https://example.com:65536/", "https://-example-/", "https://example..com/",
	},
	"IPv4 in IPv6": {
		"https://[::ffff:127.0.0.1]:PORT/", "https://[::ffff:7f00:1]:PORT/", "https://[0:0:0:0:0:ffff:127.0.0.1]:PORT/",
		"https://[::127.0.0.1]:PORT/", "https://[::ffff:0:127.0.0.1]:PORT/", "https://[64:ff9b::7f00:1]:PORT/",
		"https://[64:ff9b::10.0.0.1]/", "https://[64:ff9b:1::7f00:1]/", "https://[2002:7f00:1::]/", "https://[2002:a9fe:a9fe::1]/",
		"https://[2001:0:7f00:1::1]/", "https://[::ffff:a9fe:a9fe]/",
	},
	"private networks": {
		"https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://100.64.0.1/",
		"https://[fc00::1]/", "https://[fd12:3456::1]/", "https://[fec0::1]/", "https://[fe80::1]/", "https://[fe80::1%25lo]:PORT/",
		"https://[::1%25lo]:PORT/",
	},
	"metadata of clouds": {
		"https://169.254.169.254/latest/meta-data/", "https://169.254.170.2/v2/credentials/", "https://100.100.100.200/",
		"https://192.0.0.192/", "https://168.63.129.16/", "https://[fd00:ec2::254]/", "https://[fd20:ce::254]/",
		"https://[fd00:c1::a9fe:a9fe]/", "https://[fd00:42::42]/", "https://[fe80::a9fe:a9fe]/",
	},
	"reserved networks": {
		"https://192.0.2.1/", "https://198.51.100.1/", "https://203.0.113.1/", "https://198.18.0.1/", "https://192.88.99.1/",
		"https://224.0.0.1/", "https://239.255.255.250/", "https://240.0.0.1/", "https://255.255.255.255/", "https://[ff02::1]/",
		"https://[100::1]/", "https://[2001:db8::1]/", "https://[3fff::1]/", "https://[2001:20::1]/", "https://[5f00::1]/",
	},
	letters: {
		"https://①②⑦.⓪.⓪.①:PORT/", "https://127。0。0。1:PORT/", "https://１２７.0.0.1:PORT/", "https://ｌocalhost:PORT/",
		"https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/", "https://%6c%6f%63%61%6c%68%6f%73%74:PORT/",
	},
	names: {
		"https://localhost:PORT/", "https://LOCALHOST:PORT/", "https://localhost.:PORT/", "https://metadata.google.internal/",
		"https://example.com:0/",
		"https://loopback.example:PORT/", "https://private.example/", "https://six.example/", "https://mapped.example:PORT/",
		"https://nat64.example/", "https://several.example/", "https://127.0.0.1.nip.example:PORT/",
		"https://xn--e1afmkfd.xn--p1ai:PORT/", "https://wire.example/", "https://loopback.example.:PORT/", "https://loopback:PORT/",
	},
	"tricks with the URL": {
		"http://example.com/", "HTTP://example.com/", "ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1:PORT/_x",
		"dict://127.0.0.1:PORT/", "//127.0.0.1:PORT/", "127.0.0.1:PORT", "https:127.0.0.1", "https:///x", "https://", "",
		"https://example.com@127.0.0.1:PORT/", "https://user:word@example.com/", "https://@example.com/", "https://example.com/#x",
		"https://example.com#@127.0.0.1:PORT/", "https://127.0.0.1:PORT\\@example.com/", "https://127.0.0.1:PORT\\@@example.com/",
		"https://example.com\r\nHost: 127.0.0.1/", "https://example.com/\r\nX-Admin: 1", "https://example.com/\x00", "https://exa mple.com/",
		"https://example.com:+443/", "https://example.com:80:PORT/",
		"https://127.0.0.1%2f@example.com/", "https://example.com%00.example/", "https://[::1", "https://[127.0.0.1]:PORT/",
		"https://example.com/" + strings.Repeat("a", 2048),
	},
}

// answers are what the name server of the attacker says. Other names lead to loopback:
// the resolvers of some systems read 0x7f.1 as an address.
var answers = map[string][]string{
	"localhost.": {"127.0.0.1"}, "loopback.example.": {"127.0.0.1"}, "loopback.": {"127.0.0.1"}, "private.example.": {"10.0.0.7"}, "six.example.": {"fd00::7"},
	"mapped.example.": {"::ffff:127.0.0.1"}, "nat64.example.": {"64:ff9b::7f00:1"}, "several.example.": {"10.0.0.7", "::1", "169.254.169.254"},
	"127.0.0.1.nip.example.": {"127.0.0.1"}, "xn--e1afmkfd.xn--p1ai.": {"127.0.0.1"}, "wire.example.": {"168.63.129.16"},
	"metadata.google.internal.": {"169.254.169.254"},
}

func answer(name string, _ int) []string {
	if found, ok := answers[name]; ok {
		return found
	}
	return []string{"127.0.0.1"}
}

func TestSend_ConnectsToNoNetworkOfOurs(t *testing.T) {
	t.Parallel()
	port, connections := listenOnLoopback(t)
	sender := newSender(false)
	sender.ResolveWith(nameServer(t, answer))
	for kind, targets := range attacks {
		want := webhook.Outcome{Failure: webhook.FailedAddress}
		if kind == neverResolved {
			want.Failure = webhook.FailedConnection
		}
		for _, target := range targets {
			target = strings.ReplaceAll(target, "PORT", port)
			if got := sender.Send(t.Context(), attempt(target)); got != want {
				t.Errorf("%s: %q ended with %+v", kind, target, got)
			}
		}
	}
	if n := connections(); n > 0 {
		t.Errorf("%d connections arrived", n)
	}
}

// The receiver closes each connection, so that each attempt asks for the name again.
func TestSend_ChecksTheAddressOfEachConnection(t *testing.T) {
	t.Parallel()
	for name, second := range map[string][]string{
		"the name moves to loopback":       {"127.0.0.1"},
		"loopback follows a dead address":  {"127.0.0.3", "127.0.0.1"},
		"the name moves to the link":       {"169.254.169.254"},
		"the name moves to loopback in v6": {"::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port, connections := listenOnLoopback(t)
			receiver := receive(t, "127.0.0.2:"+port, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
			})
			sender := newSender(false)
			sender.Trust(receiver.Certificate())
			sender.TakeForPublic("127.0.0.2")
			sender.ResolveWith(nameServer(t, func(_ string, call int) []string {
				if call == 1 {
					return []string{"127.0.0.2"}
				}
				return second
			}))
			first := sender.Send(t.Context(), attempt("https://example.com:"+port+"/"))
			if first != (webhook.Outcome{Status: 200}) {
				t.Fatalf("the first attempt ended with %+v", first)
			}
			got := sender.Send(t.Context(), attempt("https://example.com:"+port+"/"))
			if got != (webhook.Outcome{Failure: webhook.FailedAddress}) || connections() > 0 {
				t.Errorf("the second attempt ended with %+v, and %d connections arrived", got, connections())
			}
		})
	}
}

func TestSend_ReachesPrivateNetworksIfAllowed(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	sender := newSender(true)
	if got := sender.Send(t.Context(), attempt(receiver.URL)); got.Status != http.StatusNotFound {
		t.Errorf("the attempt ended with %+v", got)
	}
	for _, target := range []string{"http://10.0.0.1/", "https://192.168.1.1/", "http://172.16.0.1:8080/", "http://[::1]/", "http://receiver/"} {
		if err := sender.Check(target); err != nil {
			t.Errorf("%s is refused: %v", target, err)
		}
	}
	sender.ResolveWith(nameServer(t, answer))
	refused := slices.Concat(attacks["metadata of clouds"], attacks["reserved networks"], []string{
		"https://100.64.0.1/", "https://[fc00::1]/", "https://[fd12:3456::1]/", "https://[fe80::1%25lo]/", "https://six.example/",
		"https://[::ffff:168.63.129.16]/", "https://[::ffff:169.254.169.254]/", "https://wire.example/", "https://nat64.example/", "https://metadata.google.internal/",
	})
	for _, target := range refused {
		if got := sender.Send(t.Context(), attempt(target)); got != (webhook.Outcome{Failure: webhook.FailedAddress}) {
			t.Errorf("%s ended with %+v", target, got)
		}
	}
}

func TestCheck_RefusesWhatIsKnownBeforeTheConnection(t *testing.T) {
	t.Parallel()
	sender := newSender(false)
	for kind, targets := range attacks {
		if slices.Contains([]string{names, otherNotations, letters, neverResolved}, kind) {
			continue
		}
		for _, target := range targets {
			if sender.Check(strings.ReplaceAll(target, "PORT", "443")) == nil {
				t.Errorf("%s: %q is accepted", kind, target)
			}
		}
	}
}

func TestCheck_AcceptsPublicURLs(t *testing.T) {
	t.Parallel()
	sender := newSender(false)
	for _, target := range []string{
		"https://example.com", "https://hooks.example.com:8443/a/b?c=d", "HTTPS://Example.COM/", "https://example.com./",
		"https://93.184.215.14/", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", "https://xn--e1afmkfd.xn--p1ai/",
		"https://a_b.example-1.io/%2e%2e/", "https://x/", "https://3com.example/",
	} {
		if err := sender.Check(target); err != nil {
			t.Errorf("%s is refused: %v", target, err)
		}
	}
}

// listenOnLoopback listens on a free port of 127.0.0.1 and ::1, and returns the number of
// connections so far.
func listenOnLoopback(t *testing.T) (port string, connections func() int) {
	t.Helper()
	var seen sync.Map
	listen := func(address string) net.Listener {
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
				seen.Store(conn, nil)
				_ = conn.Close()
			}
		}()
		return ln
	}
	_, port, _ = net.SplitHostPort(listen("127.0.0.1:0").Addr().String())
	listen("[::1]:" + port)
	return port, func() (n int) {
		seen.Range(func(any, any) bool { n++; return true })
		return n
	}
}

// nameServer starts a name server. A client asks for IPv4 and IPv6 addresses at once, in any
// order. answer returns the addresses of a name, and gets how often this kind was asked for.
func nameServer(t *testing.T, answer func(name string, call int) []string) (address string) {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		calls, packet := map[dnsmessage.Type]int{}, make([]byte, 512)
		for n, from, err := conn.ReadFrom(packet); err == nil; n, from, err = conn.ReadFrom(packet) {
			var m dnsmessage.Message
			if m.Unpack(packet[:n]) != nil {
				continue
			}
			q := m.Questions[0]
			calls[q.Type]++
			m.Response, m.Additionals = true, nil
			m.Answers = resources(q, answer(q.Name.String(), calls[q.Type]))
			if reply, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// resources returns the answers to one question.
func resources(q dnsmessage.Question, addresses []string) (found []dnsmessage.Resource) {
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
	for _, address := range addresses {
		ip := net.ParseIP(address)
		isV4 := !strings.Contains(address, ":")
		switch {
		case isV4 && q.Type == dnsmessage.TypeA:
			found = append(found, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: [4]byte(ip.To4())}})
		case !isV4 && q.Type == dnsmessage.TypeAAAA:
			found = append(found, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip.To16())}})
		}
	}
	return found
}
