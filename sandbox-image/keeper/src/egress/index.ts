/** The way out of the pod: a local port, and tunnels of workers that its connections are handed to. Imports `base`. */
export { EgressJournal, EgressTunnels } from './tunnels.ts';
