// Serves the registry of the distribution project, as its own program does, from the configuration file that is the one
// argument. Of its storage there is only the file system, so that the libraries of clouds need not be compiled.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: serve-registry CONFIGURATION")
		os.Exit(2)
	}
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func serve(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	config, err := configuration.Parse(file)
	if err != nil {
		return err
	}
	server, err := registry.NewRegistry(context.Background(), config)
	if err != nil {
		return err
	}
	return server.ListenAndServe()
}
