package limits

import (
	"net/netip"
	"sync"
)

const (
	// MaxPlaces bounds the webhook bodies that are read concurrently. Their
	// senders are unknown until then, so this bounds the memory that strangers can
	// take.
	MaxPlaces = 64
	// MaxPlacesOfAddress is how many of them one address may send, so that one stranger
	// does not take the places of the provider. It is half of them, because behind a
	// proxy all senders have the proxy address.
	MaxPlacesOfAddress = MaxPlaces / 2
	// ipv6Site is the prefix that one customer of a provider has to itself.
	ipv6Site = 64
)

// Places admits the senders of webhooks while their bodies are read.
type Places struct {
	mu    sync.Mutex
	taken int
	by    map[string]int
}

// Enter takes a place for a remote host. It reports whether one was free.
func (p *Places) Enter(host string) (leave func(), free bool) {
	sender := senderOf(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == MaxPlaces || p.by[sender] == MaxPlacesOfAddress {
		return nil, false
	}
	if p.by == nil {
		p.by = map[string]int{}
	}
	p.taken++
	p.by[sender]++
	return func() { p.leave(sender) }, true
}

func (p *Places) leave(sender string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.by[sender]--
	if p.by[sender] == 0 {
		delete(p.by, sender)
	}
}

// senderOf returns an IPv4 address, or the site of an IPv6 address.
func senderOf(host string) string {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, ipv6Site).Masked().String()
}
