/** Proof from inside the pod that its NetworkPolicy is enforced. May import `base`, `client`, `snapshot` and protocol. */
export { systemConnector, type Connector, NetworkProbe } from './probe.ts';
