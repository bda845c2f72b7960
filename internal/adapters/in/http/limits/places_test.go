package limits

import "testing"

func TestSenderOf_IsAnAddressOrAnIPv6Site(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "@": "@", "": "",
	} {
		if got := senderOf(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
