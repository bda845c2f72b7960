package webhooks

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// metadata are addresses of cloud providers, with credentials of the machine, that lie in
// networks which may be private or public. Link-local ones are refused anyway.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure's WireServer, a public address
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
}

var errMetadata = errors.New("the address serves metadata of a cloud provider")

var private4 = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
}

var private6 = []netip.Prefix{netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7")}

// targets says where requests may go.
type targets struct {
	schemes []string
	guard   *ssrf.Guardian
	dialer  *net.Dialer
}

func newTargets(allowPrivate bool) targets {
	t := targets{schemes: []string{"https"}}
	options := []ssrf.Option{ssrf.WithAnyPort()}
	if allowPrivate {
		t.schemes = append(t.schemes, "http")
		options = append(options, ssrf.WithAllowedV4Prefixes(private4...), ssrf.WithAllowedV6Prefixes(private6...))
	}
	t.guard = ssrf.New(options...)
	t.dialer = &net.Dialer{Control: t.control}
	return t
}

// control refuses addresses at each connection, after the name is resolved. A name that
// resolves to another address later (DNS rebinding) is refused then.
func (t targets) control(network, address string, c syscall.RawConn) error {
	if addr, err := netip.ParseAddrPort(address); err == nil && isMetadata(addr.Addr()) {
		return errMetadata
	}
	return t.guard.Safe(network, address, c)
}

func isMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(addr.Unmap().WithZone("")) })
}

// hostName matches names in ASCII whose last label is no number, in any notation: the
// resolvers of some systems read 2130706433, 0x7f.1 and 127.1 as addresses.
var hostName = regexp.MustCompile(`^(?i:[a-z0-9_-]+\.)*(?i:[a-z][a-z0-9_-]*[a-z0-9]|[a-z])\.?$`)

// check refuses URLs to which requests never go, so that callers learn of it early. What
// a name resolves to is known at the connection only.
func (t targets) check(target string) error {
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Host == "" || len(target) > 2048:
		return errors.New("must be an absolute URL of at most 2048 characters")
	case !slices.Contains(t.schemes, u.Scheme):
		return errors.New("must be an https URL")
	case u.User != nil || strings.Contains(target, "#"):
		return errors.New("must contain neither credentials nor a fragment")
	case u.Port() != "" && !isPort(u.Port()):
		return errors.New("must have a port between 1 and 65535")
	}
	addr, err := netip.ParseAddr(u.Hostname())
	switch {
	case err != nil && !hostName.MatchString(u.Hostname()):
		return errors.New("must have a host name in ASCII, or an IP address in the usual notation")
	case err == nil && (isMetadata(addr) || t.guard.SafeAddr(addr) != nil):
		return errors.New("must not lead to a private or reserved network")
	}
	return nil
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}
