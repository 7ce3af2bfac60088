// A server for the tests that speaks MongoDB's protocol: ferretdb <host:port> <folder>.
//
// FerretDB on SQLite looks a document up and writes it back in two steps, so two clients that change it at once may both succeed.
// MongoDB never does that. Commands are therefore let through one at a time; all else is FerretDB's.
package main

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// One message of the wire protocol: it begins with its own length.
func pass(from io.Reader, to io.Writer) error {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return err
	}
	message := make([]byte, binary.LittleEndian.Uint32(length[:]))
	copy(message, length[:])
	if _, err := io.ReadFull(from, message[4:]); err != nil {
		return err
	}
	_, err := to.Write(message)
	return err
}

// The next message of a client, read whole before anybody is made to wait for it.
type whole struct{ bytes []byte }

func (w *whole) Write(p []byte) (int, error) { w.bytes = p; return len(p), nil }

func serve(client net.Conn, socket string, turn *sync.Mutex) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	for {
		var request, reply whole
		if pass(client, &request) != nil {
			return
		}
		turn.Lock()
		_, err := server.Write(request.bytes)
		if err == nil {
			err = pass(server, &reply)
		}
		turn.Unlock()
		if err != nil {
			return
		}
		if _, err := client.Write(reply.bytes); err != nil {
			return
		}
	}
}

// A test that is killed cannot end its server.
func endWithParent() {
	for parent := os.Getppid(); os.Getppid() == parent; {
		time.Sleep(time.Second)
	}
	os.Exit(1)
}

func main() {
	go endWithParent()
	// Small data, much garbage: collecting it as seldom as this takes a fifth off what a command costs.
	debug.SetGCPercent(1000)
	address, folder := os.Args[1], os.Args[2]
	socket := filepath.Join(folder, "socket")
	os.Remove(socket)
	database, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{Unix: socket},
		Handler:  "sqlite",
		// What the tests write need not outlive the machine.
		SQLiteURL: "file:" + folder + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(database.Run(context.Background())) }()
	for {
		if probe, err := net.Dial("unix", socket); err == nil {
			probe.Close()
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	var turn sync.Mutex
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(client, socket, &turn)
	}
}
