package scenarios

// LoadSpec is what the workloads other than udp-multicast do. Each field but Connections and the CPUs goes with some of
// them only (scopes); the time is that of Traffic.
type LoadSpec struct {
	// Connections is how many there are at a time: TCP connections of stream, rr and mixed, senders of udp, clients of an
	// external tool. Each has one thread on either side.
	Connections int    `yaml:"connections" json:"connections"`
	Protocol    string `yaml:"protocol" json:"protocol"` // rr: tcp, udp
	Write       int    `yaml:"write" json:"write"`       // stream: bytes of one write
	Request     int    `yaml:"request" json:"request"`   // rr: bytes
	Response    int    `yaml:"response" json:"response"` // rr: bytes
	Payload     int    `yaml:"payload" json:"payload"`   // udp: bytes of a datagram
	Rate        Rate   `yaml:"rate" json:"rate"`         // udp: over all senders, bits of payload or datagrams a second
	Group       string `yaml:"group" json:"group"`       // udp: the multicast group it is sent to; empty: unicast
	// Tool is external's program. It does what another workload does (toolWorkloads), with that one's fields.
	Tool string `yaml:"tool" json:"tool"`
	// ClientCPUs and ServerCPUs pin the threads of a side: thread i to the CPU i modulo their number. Empty: not pinned.
	// What receives for the server over veth runs on the sender's CPU.
	ClientCPUs []int `yaml:"client_cpus" json:"client_cpus"`
	ServerCPUs []int `yaml:"server_cpus" json:"server_cpus"`
}

// The values of Scenario.Workload.
const (
	WorkloadMulticast = "udp-multicast" // on a bond; the others go over the other kinds of Topology
	WorkloadStream    = "stream"        // TCP, one way
	WorkloadRR        = "rr"            // request and response
	WorkloadMixed     = "mixed"         // the transfers of a file server
	WorkloadUDP       = "udp"           // datagrams, one way
	WorkloadExternal  = "external"      // a tool of others
)

var workloads = []string{WorkloadMulticast, WorkloadStream, WorkloadRR, WorkloadMixed, WorkloadUDP, WorkloadExternal}

// tools are what external can run.
var tools = []string{"tbench", "iperf3", "iperf", "sockperf"}

// toolWorkloads are what the tools do.
var toolWorkloads = map[string]string{"tbench": WorkloadMixed, "iperf3": WorkloadStream, "iperf": WorkloadStream, "sockperf": WorkloadRR}

// does is the workload, that of the tool where it is external.
func (s *Scenario) does() string {
	if s.Workload == WorkloadExternal {
		return toolWorkloads[s.Load.Tool]
	}
	return s.Workload
}
