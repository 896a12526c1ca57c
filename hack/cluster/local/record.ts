import { readFile, writeFile } from 'node:fs/promises';
import type { Cluster } from '../base/cluster.ts';
import type { Layout } from '../base/layout.ts';
import { defaultPorts, type Ports } from '../base/ports.ts';

/** The stored state of the cluster between two commands. */
interface ClusterRecord extends Pick<Cluster, 'provider' | 'tier' | 'context' | 'nodeName'> {
  readonly kwok: boolean;
}

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

/** The record, when a cluster has been brought up and not down since. */
export async function readClusterRecord(layout: Layout): Promise<ClusterRecord | undefined> {
  return readJson<ClusterRecord>(layout.clusterFile);
}

/** Remembers the cluster. */
export async function writeClusterRecord(layout: Layout, record: ClusterRecord): Promise<void> {
  await writeFile(layout.clusterFile, JSON.stringify(record), { mode: 0o600 });
}

/** The ports chosen earlier, with defaults for purposes that are new since. */
export async function readPorts(layout: Layout): Promise<Ports> {
  return { ...defaultPorts, ...(await readJson<Ports>(layout.portsFile)) };
}

/** Remembers the chosen ports. */
export async function writePorts(layout: Layout, ports: Ports): Promise<void> {
  await writeFile(layout.portsFile, JSON.stringify(ports), { mode: 0o600 });
}
