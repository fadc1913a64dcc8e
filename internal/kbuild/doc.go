// Package kbuild builds what is booted: kernel trees with a small config that boots and measures, and single modules
// against a kernel's headers. A build that fails by the fault of what is built is a *BuildError; whatever the machine
// lacks (compiler, space, memory) is any other error, so that a bisect never blames a commit for it.
package kbuild
