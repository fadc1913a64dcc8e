// Package acceptance runs the built command, bin/bondrepro, on real kernels: a stock one, and ones whose bonding.ko
// carries one fault each (tools/mutants). It holds tests only. `make test-kernel` runs each case once and `make soak`
// often; both set what the tests read from the environment:
//
//	BONDREPRO_ACCEPTANCE    1, or the tests are skipped
//	BONDREPRO_KERNEL        a distribution's kernel package (.deb)
//	BONDREPRO_MUTANTS       the folder of NAME/bonding.ko built for that kernel
//	BONDREPRO_HEADERS       that kernel's headers, with the driver's source below ../../..
//	BONDREPRO_SOAK_REPORT   a Markdown file to write; set and not empty, it also makes each case run often
//	BONDREPRO_CLUSTER       1, or the tests on a Slurm of two nodes are skipped (make test-cluster)
//	BONDREPRO_BISECT_SEED   the history that the bisect tests make; not set: a new one, whose seed is told
package acceptance
