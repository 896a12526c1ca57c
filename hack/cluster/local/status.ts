import { apiReader, hasCondition } from '../base/api.ts';
import { families, familyVersion } from '../build/families.ts';
import type { Provider, Tier } from '../base/cluster.ts';
import { isAlive, residentMiB } from '../daemons/process.ts';
import { readRecords } from '../daemons/supervisor.ts';
import type { Layout } from '../base/layout.ts';
import { nodeName } from '../base/network.ts';
import { readClusterRecord, readPorts } from './record.ts';

/** Current state of one daemon. */
interface DaemonStatus {
  readonly name: string;
  readonly up: boolean;
  readonly pid: number;
  /** Resident memory in MiB; 0 when it does not run. */
  readonly rssMiB: number;
}

/** The whole cluster at the moment of asking. */
export interface ClusterStatus {
  /** `down` when no cluster is recorded. */
  readonly state: 'up' | 'degraded' | 'down';
  readonly provider?: Provider;
  readonly tier?: Tier;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly daemons: readonly DaemonStatus[];
  /** Only with a node: whether it is Ready. */
  readonly nodeReady?: boolean;
  /** Versions of our binaries, by family. */
  readonly versions: Readonly<Record<string, string>>;
  readonly totalRssMiB: number;
}

async function nodeIsReady(layout: Layout): Promise<boolean> {
  try {
    const api = await apiReader(layout, (await readPorts(layout)).apiserver);
    return hasCondition(await api.get(`/api/v1/nodes/${nodeName}`), 'Ready');
  } catch {
    return false;
  }
}

/** The status of our own cluster; asks the processes and the API server, changes nothing. */
export async function statusLocal(layout: Layout): Promise<ClusterStatus> {
  const record = await readClusterRecord(layout);
  const versions = Object.fromEntries(await Promise.all(families.map(async (each) => [each.name, await familyVersion(each)] as const)));
  if (!record) return { state: 'down', daemons: [], versions, totalRssMiB: 0 };
  const daemons = await Promise.all(
    (await readRecords(layout)).map(async ({ name, identity }) => {
      const up = await isAlive(identity);
      return { name, up, pid: identity.pid, rssMiB: up ? await residentMiB(identity.pid) : 0 };
    }),
  );
  const nodeReady = record.tier === 'node' ? await nodeIsReady(layout) : undefined;
  const complete = daemons.length >= (record.tier === 'node' ? 9 : 5);
  return {
    state: complete && nodeReady !== false && daemons.every(({ up }) => up) ? 'up' : 'degraded',
    provider: record.provider,
    tier: record.tier,
    kubeconfig: layout.kubeconfig,
    context: record.context,
    daemons,
    ...(nodeReady === undefined ? {} : { nodeReady }),
    versions,
    totalRssMiB: daemons.reduce((sum, { rssMiB }) => sum + rssMiB, 0),
  };
}

/** The status as lines for a person. */
export function renderStatus(status: ClusterStatus): string {
  if (status.state === 'down') return 'No cluster is up. Start one with: npm run cluster:up\n';
  const rows = status.daemons.map(({ name, up, pid, rssMiB }) => [
    name,
    up ? 'up' : 'DOWN',
    up ? String(pid) : '-',
    up ? String(rssMiB) : '-',
  ]);
  const table = [['DAEMON', 'STATE', 'PID', 'RSS MiB'], ...rows, ['total', '', '', String(status.totalRssMiB)]];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
  );
  const node = status.nodeReady === undefined ? '' : `, node ${status.nodeReady ? 'Ready' : 'NOT Ready'}`;
  const versions = Object.entries(status.versions).map(([name, version]) => `${name} ${version}`);
  const head = `cluster ${status.state} (${status.provider}, tier ${status.tier}${node})`;
  return `${[head, ...(rows.length > 0 ? lines : []), `versions   ${versions.join(', ')}`, `kubeconfig ${status.kubeconfig}`].join('\n')}\n`;
}
