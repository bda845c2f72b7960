package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// subnet is 127.19.N.0/24. A cluster reserves it by listening there.
type subnet struct {
	number int
	lock   net.Listener
}

// mostSubnets bounds the clusters on a machine.
const mostSubnets = 8

// reserveSubnet reserves the first free subnet.
func reserveSubnet(ctx context.Context) (subnet, error) {
	var errs []error
	for number := range mostSubnets {
		s := subnet{number: number}
		lock, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(s.addr(1), "1019"))
		if err == nil {
			s.lock = lock
			return s, nil
		}
		errs = append(errs, err)
	}
	return subnet{}, fmt.Errorf("reserve addresses: Linux answers on all of 127.0.0.0/8, other systems do not: %w", errors.Join(errs...))
}

func (s subnet) addr(host int) string { return fmt.Sprintf("127.19.%d.%d", s.number, host) }

func (s subnet) release() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}
