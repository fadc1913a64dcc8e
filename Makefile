# The two commands of most use are `make run` and `make test`; `make help` lists them all.
# make turns every failure into exit code 2: call bin/bondrepro itself where its exit code matters (git bisect run).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where Go's own installer puts it, for a root shell whose PATH lacks it.
export PATH := $(PATH):/usr/local/go/bin
export CGO_ENABLED := 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
KERNEL := deb:linux-image-cloud-amd64
FUZZTIME ?= 30s
ARGS ?=

COMMANDS := $(patsubst %/main.go,./%,$(wildcard cmd/*/main.go))
QEMU := qemu-system-x86_64=qemu-system-x86

.PHONY: help run build test test-points test-kernel test-cluster soak bench fuzz lint clean go qemu

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

run: build qemu ## install what is missing, fetch a kernel, say GOOD or BAD for it (ARGS="--set …" for more)
	@tools/fetch-kernel >/dev/null
	bin/bondrepro run bond-multicast-tx --testbed vm --kernel $(KERNEL) $(ARGS)

build: go ## bin/bondrepro, bin/bondctl and bin/qdiscstat: static, without machine paths
	go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ $(COMMANDS)

test: go qemu ## unit tests, tests from recorded data, guest tests
	@tools/install ip=iproute2 ethtool=ethtool git=git nsenter=util-linux tbench=dbench iperf3=iperf3 iperf=iperf sockperf=sockperf
	@tools/fetch-kernel >/dev/null
	go vet ./...
	go test -p 1 -timeout 20m ./...

test-points: go qemu ## the tests that kill us while ports are changed and put back, at every single change
	@tools/install ip=iproute2 ethtool=ethtool
	@tools/fetch-kernel >/dev/null
	BONDREPRO_EVERY_POINT=1 go test -p 1 -count 1 -timeout 60m -v -run 'InGuest' ./internal/qdisctree ./internal/ifstate ./bondctl ./internal/testbed

test-kernel: build qemu ## build the faulty bonding.ko modules; run bin/bondrepro on them and on a stock kernel, once each; bisect
	@tools/install ip=iproute2 ethtool=ethtool git=git
	tools/build-mutants
	$(call acceptance,75m,)

test-cluster: build qemu ## a matrix on a real Slurm: two nodes on this machine, one of which is killed (as root)
	@tools/install sbatch=slurm-client slurmctld=slurmctld slurmd=slurmd munged=munge
	@kernel=$$(tools/fetch-kernel); BONDREPRO_CLUSTER=1 BONDREPRO_KERNEL="$$kernel" \
		go test -count 1 -timeout 30m -v -run Cluster ./internal/acceptance/

soak: build qemu ## the same 20 times (stock, orphaning) and 5 times (the others); writes docs/soak.md
	@tools/install ip=iproute2 ethtool=ethtool git=git
	tools/build-mutants
	$(call acceptance,8h,$(CURDIR)/docs/soak.md)

# acceptance TIMEOUT,REPORT: the tests of the built command on the kernel package and the mutants in the cache.
define acceptance
@kernel=$$(tools/fetch-kernel); mutants=$$(tools/build-mutants --folder); headers=$$(tools/build-mutants --headers); \
BONDREPRO_ACCEPTANCE=1 BONDREPRO_KERNEL="$$kernel" BONDREPRO_MUTANTS="$$mutants" BONDREPRO_HEADERS="$$headers" BONDREPRO_SOAK_REPORT="$2" \
	go test -count 1 -timeout $1 -v ./internal/acceptance/
endef

bench: go ## every benchmark
	go test -run '^$$' -bench . -benchmem ./...

fuzz: go ## every fuzz target for FUZZTIME each
	tools/fuzz $(FUZZTIME)

lint: go ## gofmt, go vet, staticcheck, bash -n
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	[ -z "$$unformatted" ] || { echo "not as gofmt writes it: $$unformatted"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	for script in tools/apt.sh tools/check-go tools/install tools/fetch-kernel tools/build-mutants tools/fuzz tools/slurm-cluster .ci/run; do bash -n $$script; done

clean: ## bin/; what was fetched and built for kernels stays in the user's cache folder
	rm -rf bin

go:
	@tools/check-go

qemu:
	@tools/install $(QEMU)
