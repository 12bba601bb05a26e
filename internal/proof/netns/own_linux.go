package netns

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"
)

// Own makes the addresses of networks such as "10.0.0.0/8" local within the run that
// Again started. Child processes of that run use the same network.
func Own(networks ...string) error {
	if os.Getenv(marker) == ready {
		return nil
	}
	if err := bringUp(); err != nil {
		return err
	}
	for _, network := range networks {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return err
		}
		if err := makeOurs(prefix); err != nil {
			return err
		}
	}
	return os.Setenv(marker, ready)
}

// bringUp sets the loopback interface up.
func bringUp() error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(socket) }()
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{name: [syscall.IFNAMSIZ]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); failed != 0 {
		return fmt.Errorf("switch lo on: %w", failed)
	}
	return nil
}

// makeOurs makes the addresses of a network local, like "ip route add local NETWORK dev
// lo".
func makeOurs(network netip.Prefix) error {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	family := uint8(syscall.AF_INET)
	if network.Addr().Is6() {
		family = syscall.AF_INET6
	}
	route := struct {
		syscall.NlMsghdr
		syscall.RtMsg
	}{
		syscall.NlMsghdr{Type: syscall.RTM_NEWROUTE, Flags: syscall.NLM_F_REQUEST | syscall.NLM_F_ACK | syscall.NLM_F_CREATE},
		syscall.RtMsg{
			Family: family, Dst_len: uint8(network.Bits()), Table: syscall.RT_TABLE_LOCAL,
			Protocol: syscall.RTPROT_BOOT, Scope: syscall.RT_SCOPE_HOST, Type: syscall.RTN_LOCAL,
		},
	}
	attributes := append(routeAttribute(syscall.RTA_DST, network.Addr().AsSlice()), routeAttribute(syscall.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(lo.Index)))...)
	route.Len = uint32(int(unsafe.Sizeof(route)) + len(attributes))
	return ask(append(unsafe.Slice((*byte)(unsafe.Pointer(&route)), unsafe.Sizeof(route)), attributes...))
}

// routeAttribute encodes one attribute of a netlink route message.
func routeAttribute(kind uint16, value []byte) []byte {
	const head = 4
	text := binary.NativeEndian.AppendUint16(nil, uint16(head+len(value)))
	text = binary.NativeEndian.AppendUint16(text, kind)
	return append(text, value...)
}

// ask sends a netlink message to the kernel and returns the error that the kernel
// reports.
func ask(message []byte) error {
	socket, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(socket) }()
	if err := syscall.Sendto(socket, message, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, syscall.Getpagesize())
	n, _, err := syscall.Recvfrom(socket, answer, 0)
	if err != nil {
		return err
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil || len(messages) == 0 || messages[0].Header.Type != syscall.NLMSG_ERROR {
		return fmt.Errorf("the kernel answers %v: %w", messages, err)
	}
	if code := int32(binary.NativeEndian.Uint32(messages[0].Data)); code != 0 {
		return fmt.Errorf("add a route: %w", syscall.Errno(-code))
	}
	return nil
}
