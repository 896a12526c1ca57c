import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CollectCounts } from '../durable/snapshots.ts';

/** Values that the metrics read at scrape time. */
interface MetricSources {
  readonly storeBytes: () => Promise<number>;
  readonly quotaUsed: () => number;
  readonly quotaLimit: () => number | null;
  readonly linkConnections: () => number;
  readonly egressParked: () => number;
  readonly egressOpen: () => number;
  readonly collected: () => Readonly<CollectCounts>;
  readonly ready: () => boolean;
}

/** The keeper's own registry; nothing is registered globally. */
export class KeeperMetrics {
  readonly registry = new Registry();
  /** result: ok, failed, timeout, killed, interrupted, error. */
  readonly execs = this.#counter('execs_total', 'Commands that ended, by result', ['result']);
  readonly execSeconds = new Histogram({
    name: 'agentfleet_keeper_exec_seconds',
    help: 'Wall time of commands',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 3600],
    registers: [this.registry],
  });
  readonly snapshots = this.#counter('snapshots_total', 'Snapshots, by result', ['result']);
  readonly restores = this.#counter('restores_total', 'Restores, by result', ['result']);
  readonly trees = this.#counter('trees_total', 'Trees that were written from an archive, by result', ['result']);
  readonly notes = this.#counter('notes_total', 'Notes of workers in the event log', []);
  readonly redactions = this.#counter('redactions_total', 'Secrets that were taken out of answers, by kind', ['kind']);
  readonly rawReads = this.#counter('raw_reads_total', 'Answers with exact bytes, which were asked for', []);
  readonly authRefusals = this.#counter('auth_refusals_total', 'Requests refused before they were heard, by reason', ['reason']);

  constructor(sources: MetricSources) {
    this.#gauge('link_connections', 'Authenticated links to a runner since start', sources.linkConnections);
    this.#gauge('egress_parked', 'Tunnels of workers that wait for a connection', sources.egressParked);
    this.#gauge('egress_open', 'Connections out of the sandbox', sources.egressOpen);
    this.#gauge('ready', '1 when commands can run', () => Number(sources.ready()));
    this.#gauge('store_bytes', 'Bytes used on the volume of the store', sources.storeBytes);
    this.#gauge('snapshots_collected', 'Snapshots removed by retention since start', () => sources.collected().removed);
    this.#gauge('collections', 'Collections of the store since start', () => sources.collected().collections);
    this.#gauge('collection_failures', 'Collections that failed since start', () => sources.collected().failures);
    this.#gauge('collected_bytes', 'Bytes of the store freed by collections since start', () => sources.collected().freedBytes);
    this.#gauge('quota_used_bytes', 'Bytes in the roots as measured last', sources.quotaUsed);
    this.#gauge('quota_limit_bytes', 'Bytes that the roots may hold; 0 = no limit', () => sources.quotaLimit() ?? 0);
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[]): Counter<L> {
    return new Counter({ name: `agentfleet_keeper_${name}`, help, labelNames, registers: [this.registry] });
  }

  #gauge(name: string, help: string, read: () => number | Promise<number>): void {
    const gauge: Gauge = new Gauge({
      name: `agentfleet_keeper_${name}`,
      help,
      registers: [this.registry],
      collect: async (): Promise<void> => gauge.set(await read()),
    });
  }
}
