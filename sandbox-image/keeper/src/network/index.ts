/** Proof from inside the pod that its NetworkPolicy is enforced. */
export { systemConnector, type Connector } from './connector.ts';
export { NetworkProbe, type NetworkProbeOptions } from './probe.ts';
