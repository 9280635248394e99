package jupyter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/contextrec/contextrec/notebooks/internal/group"
)

// HasDisplay tells whether there is a screen to open a browser on.
func HasDisplay() bool {
	if runtime.GOOS == "darwin" {
		return os.Getenv("SSH_CONNECTION") == ""
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// OpenBrowser opens a page in the user's browser and returns when the browser
// has asked for it. What the browser is started with, everybody on the machine
// can read, and the address of a notebook server lets in who has it: so it is
// started with another address, which leads to the page once.
func OpenBrowser(ctx context.Context, page string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return fmt.Errorf("no browser can be opened: %s is not on PATH", opener)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	once := "/" + rand.Text()
	asked := make(chan struct{}, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != once {
			http.NotFound(w, r)
			return
		}
		select {
		case asked <- struct{}{}:
			w.Header().Set("Referrer-Policy", "no-referrer")
			http.Redirect(w, r, page, http.StatusSeeOther)
		default:
			http.NotFound(w, r)
		}
	})}
	go server.Serve(listener)
	defer func() {
		// The answer is on its way when the browser has asked.
		finish, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		server.Shutdown(finish)
	}()

	cmd := exec.Command(path, "http://"+listener.Addr().String()+once)
	cmd.SysProcAttr = group.Own() // a new browser outlives this program
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("no browser can be opened: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	const patience = 30 * time.Second
	late := time.After(patience)
	for {
		select {
		case <-asked:
			return nil
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("no browser can be opened: %s: %w", opener, err)
			}
			ended = nil // the browser was running already, and goes on
		case <-late:
			return errors.New("the browser does not ask for the page")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
