module github.com/proompteng/controllerkit/internal/controlplane

go 1.26.0
