package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log"
	"strconv"
	"time"

	"github.com/go-zeromq/zmq4"
)

// The kernel's ports. With the transport "ipc" the sockets are the files
// prefix-port, in a folder that is this user's: messages need no signature.
const shellPort, iopubPort, stdinPort, controlPort, heartbeatPort = 1, 2, 3, 4, 5

func socket(prefix string, port int) string { return prefix + "-" + strconv.Itoa(port) }

type message struct {
	Header, Parent struct {
		ID   string `json:"msg_id"`
		Type string `json:"msg_type"`
	}
	Content json.RawMessage
}

// dial connects to a kernel that listens. The connection lasts as long as this program.
func (k *kernel) dial(prefix string) error {
	ctx, quiet := context.Background(), zmq4.WithLogger(log.New(io.Discard, "", 0)) // the library logs the kernel's end
	k.shell, k.control = zmq4.NewDealer(ctx, quiet), zmq4.NewDealer(ctx, quiet)
	iopub := zmq4.NewSub(ctx, quiet)
	err := errors.Join(
		k.shell.Dial("ipc://"+socket(prefix, shellPort)),
		k.control.Dial("ipc://"+socket(prefix, controlPort)),
		iopub.Dial("ipc://"+socket(prefix, iopubPort)),
		iopub.SetOption(zmq4.OptionSubscribe, ""))
	go k.receive(k.shell)
	go k.receive(iopub)
	return err
}

func (k *kernel) receive(s zmq4.Socket) {
	for {
		raw, err := s.Recv()
		if err != nil {
			return
		}
		frames := raw.Frames
		for len(frames) > 0 && string(frames[0]) != delimiter {
			frames = frames[1:]
		}
		var m message
		if len(frames) < 6 || json.Unmarshal(frames[2], &m.Header) != nil || json.Unmarshal(frames[3], &m.Parent) != nil {
			continue
		}
		m.Content = frames[5]
		k.received <- m
	}
}

// delimiter stands before the message: signature, header, parent header, metadata, content.
const delimiter = "<IDS|MSG>"

// request sends a request and returns its id, by which answers name it.
func (k *kernel) request(s zmq4.Socket, kind string, content object) (id string, err error) {
	id = rand.Text()
	frames := [][]byte{[]byte(delimiter), nil}
	for _, part := range []object{{
		"msg_id": id, "msg_type": kind, "session": "nbrun", "username": "nbrun",
		"date": time.Now().UTC().Format(time.RFC3339Nano), "version": "5.3",
	}, {}, {}, content} {
		data, _ := json.Marshal(part) // strings and booleans
		frames = append(frames, data)
	}
	return id, s.SendMulti(zmq4.NewMsgFrom(frames...))
}
