package kernel

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/go-zeromq/zmq4"
)

// connection is the connection file, which tells the kernel where to listen.
// With the transport "ipc" the sockets are files IP-PORT: unlike TCP ports they
// cannot be taken by somebody else between choosing and listening, and nobody
// else on the machine can connect to them.
type connection struct {
	Transport       string `json:"transport"`
	IP              string `json:"ip"`
	Shell           int    `json:"shell_port"`
	IOPub           int    `json:"iopub_port"`
	Stdin           int    `json:"stdin_port"`
	Control         int    `json:"control_port"`
	Heartbeat       int    `json:"hb_port"`
	Key             string `json:"key"`
	SignatureScheme string `json:"signature_scheme"`
}

func newConnection(socketPrefix string) connection {
	return connection{
		Transport: "ipc",
		IP:        socketPrefix,
		Shell:     1, IOPub: 2, Stdin: 3, Control: 4, Heartbeat: 5,
		Key:             rand.Text(),
		SignatureScheme: "hmac-sha256",
	}
}

// sockets are the files that the kernel listens on once it is up.
func (c connection) sockets() []string {
	var files []string
	for _, port := range []int{c.Shell, c.IOPub, c.Stdin, c.Control, c.Heartbeat} {
		files = append(files, fmt.Sprintf("%s-%d", c.IP, port))
	}
	return files
}

type header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
}

type message struct {
	Header  header
	Parent  header
	Content json.RawMessage
}

// client is the front end's side of the protocol. Replies on the shell channel
// and everything on the iopub channel arrive by channels, which are closed when
// the connection is.
type client struct {
	key            []byte
	session        string
	shell, control zmq4.Socket
	sub            zmq4.Socket
	replies        chan message
	published      chan message
}

// dial connects to a kernel that is listening. The connection ends with ctx.
func dial(ctx context.Context, c connection) (*client, error) {
	// The library logs the end of the kernel; the caller reports it better.
	quiet := zmq4.WithLogger(log.New(io.Discard, "", 0))
	cl := &client{
		key:       []byte(c.Key),
		session:   rand.Text(),
		shell:     zmq4.NewDealer(ctx, quiet),
		control:   zmq4.NewDealer(ctx, quiet),
		sub:       zmq4.NewSub(ctx, quiet),
		replies:   make(chan message),
		published: make(chan message),
	}
	for _, s := range []struct {
		socket zmq4.Socket
		port   int
	}{{cl.shell, c.Shell}, {cl.control, c.Control}, {cl.sub, c.IOPub}} {
		if err := s.socket.Dial(fmt.Sprintf("%s://%s-%d", c.Transport, c.IP, s.port)); err != nil {
			cl.close()
			return nil, err
		}
	}
	if err := cl.sub.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		cl.close()
		return nil, err
	}
	go cl.receive(ctx, cl.shell, cl.replies)
	go cl.receive(ctx, cl.sub, cl.published)
	return cl, nil
}

func (cl *client) close() {
	cl.shell.Close()
	cl.control.Close()
	cl.sub.Close()
}

func (cl *client) receive(ctx context.Context, s zmq4.Socket, to chan<- message) {
	defer close(to)
	for {
		raw, err := s.Recv()
		if err != nil {
			return
		}
		m, err := cl.unpack(raw.Frames)
		if err != nil {
			continue // not from our kernel
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return
		}
	}
}

// request sends a request and returns its id, by which answers name it.
func (cl *client) request(s zmq4.Socket, kind string, content any) (id string, err error) {
	h := header{
		ID:       rand.Text(),
		Session:  cl.session,
		Username: "nbrun",
		Date:     time.Now().UTC().Format(time.RFC3339Nano),
		Type:     kind,
		Version:  "5.3",
	}
	frames := [][]byte{[]byte(delimiter), nil}
	for _, part := range []any{h, struct{}{}, struct{}{}, content} {
		data, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		frames = append(frames, data)
	}
	frames[1] = cl.sign(frames[2:])
	return h.ID, s.SendMulti(zmq4.NewMsgFrom(frames...))
}

// delimiter stands between the routing frames and the message: signature,
// header, parent header, metadata, content.
const delimiter = "<IDS|MSG>"

func (cl *client) unpack(frames [][]byte) (message, error) {
	for len(frames) > 0 && string(frames[0]) != delimiter {
		frames = frames[1:]
	}
	if len(frames) < 6 {
		return message{}, errors.New("kernel: message with too few frames")
	}
	if !hmac.Equal(frames[1], cl.sign(frames[2:6])) {
		return message{}, errors.New("kernel: message with a wrong signature")
	}
	m := message{Content: frames[5]}
	if err := json.Unmarshal(frames[2], &m.Header); err != nil {
		return message{}, err
	}
	if err := json.Unmarshal(frames[3], &m.Parent); err != nil {
		return message{}, err
	}
	return m, nil
}

func (cl *client) sign(parts [][]byte) []byte {
	mac := hmac.New(sha256.New, cl.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.AppendEncode(nil, mac.Sum(nil))
}
