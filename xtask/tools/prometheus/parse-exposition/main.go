// Reads an exposition from standard input with the parser that Prometheus picks for its content type (the one
// argument) and prints how many samples it holds. Exits with 1 on the first error.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: parse-exposition CONTENT-TYPE < BODY")
		os.Exit(2)
	}
	body, err := io.ReadAll(os.Stdin)
	if err == nil {
		var samples int
		if samples, err = count(body, os.Args[1]); err == nil {
			fmt.Println(samples)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

// count parses the whole body, labels included, and returns how many samples it has.
func count(body []byte, contentType string) (int, error) {
	parser, err := textparse.New(body, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return 0, err
	}
	samples, last := 0, "nothing"
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			return 0, fmt.Errorf("after %s: %w", last, err)
		}
		if entry == textparse.EntrySeries {
			// Labels are read lazily, and may not repeat a name.
			var set labels.Labels
			parser.Labels(&set)
			if name, repeated := set.HasDuplicateLabelNames(); repeated {
				return 0, fmt.Errorf("label %s twice in %s", name, set)
			}
			samples, last = samples+1, set.String()
		}
	}
}
