package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"bondrepro/internal/kernel"
)

// Fingerprint is a hash (SHA-256, hex) of the image that OpenVM would boot with these options, and of the name and the
// content of every module it would load: what is measured on equal fingerprints is interchangeable. Errors are those
// of OpenVM.
func Fingerprint(ctx context.Context, o Options) (string, error) {
	k, err := kernel.Open(ctx, o.Kernel, kernel.Options{ModulesDir: o.ModulesDir, Progress: o.Progress})
	if err != nil {
		return "", classify(err)
	}
	modules, _, err := modulesFor(k, o)
	if err != nil {
		return "", classify(err)
	}
	sum := sha256.New()
	image, err := os.Open(k.Image)
	if err != nil {
		return "", fmt.Errorf("read the kernel's image: %w", err)
	}
	defer image.Close()
	if _, err := io.Copy(sum, image); err != nil {
		return "", fmt.Errorf("read the kernel's image: %w", err)
	}
	for _, m := range modules {
		fmt.Fprintf(sum, "\n%s %x", m.Name, sha256.Sum256(m.Data))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
