module github.com/proompteng/controllerkit/internal/bench/cmd/compare

go 1.26.0

replace github.com/proompteng/controllerkit/internal/bench => ../..

require (
	github.com/go-analyze/charts v0.6.4
	github.com/proompteng/controllerkit/internal/bench v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-analyze/bulk v0.1.6 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/image v0.45.0 // indirect
)
