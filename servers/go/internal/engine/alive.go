package engine

import (
	"net"
	"syscall"
)

// IsAlive looks at a socket without waiting: nothing to read is how a connection looks on which nothing was asked. What is
// read as its end, as an error, or as words that nobody asked for, is the engine's farewell.
func IsAlive(conn net.Conn) bool {
	source, known := conn.(syscall.Conn)
	if !known {
		return true
	}
	raw, err := source.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	// Not raw.Read, which waits until nobody else reads: behind a slow write pgx leaves a reader at the socket until the server
	// says something.
	err = raw.Control(func(socket uintptr) {
		var one [1]byte
		_, _, failed := syscall.Recvfrom(int(socket), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		alive = failed == syscall.EAGAIN || failed == syscall.EWOULDBLOCK
	})
	return err == nil && alive
}
