/** Proof from inside the pod that its NetworkPolicy is enforced. */
export { systemConnector, type Connector, NetworkProbe, type NetworkProbeOptions } from './probe.ts';
