package engine

import (
	"net"
	"testing"
	"time"
)

// pair is a connection on loopback, from both its ends.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if ours, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// within fails where a connection is looked at for long.
func within(t *testing.T, conn net.Conn) bool {
	t.Helper()
	told := make(chan bool, 1)
	go func() { told <- IsAlive(conn) }()
	select {
	case alive := <-told:
		return alive
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for the other side")
		return false
	}
}

func TestAConnectionIsAliveUntilTheOtherSideHasSpokenOrGone(t *testing.T) {
	ours, theirs := pair(t)
	if !within(t, ours) {
		t.Error("nothing was said")
	}
	if _, err := theirs.Write([]byte("farewell")); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if !IsAlive(ours) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it was not heard")
}

// A driver may have left a reader at the socket, who waits for words that nobody has asked for.
func TestAConnectionThatSomeoneReadsFromIsLookedAtWithoutWaiting(t *testing.T) {
	ours, theirs := pair(t)
	// The reader is at the socket once it has been given a byte and has come back for more.
	started := make(chan struct{})
	go func() {
		one := make([]byte, 1)
		_, _ = ours.Read(one)
		close(started)
		_, _ = ours.Read(one)
	}()
	if _, err := theirs.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	<-started
	for range 100 {
		if !within(t, ours) {
			t.Fatal("nobody has closed it")
		}
		time.Sleep(time.Millisecond)
	}
}
