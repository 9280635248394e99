package kkbox

// ForgetSources makes all sources be read again, as in another program.
func ForgetSources() {
	sources.Lock()
	defer sources.Unlock()
	clear(sources.opened)
}
