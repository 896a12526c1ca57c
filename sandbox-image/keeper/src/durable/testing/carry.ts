import { createHash } from 'node:crypto';
import { maxPartBytes, type Adopted, type AuditRecord, type Part, type SnapshotRecord } from '@agentfleet/protocol/keeper';
import { canonicalJson } from '@agentfleet/protocol/text';
import type { KeeperClient } from '../../client/index.ts';

/** A keeper's complete state, as a durable store would keep it. */
export interface Cargo {
  readonly log: Buffer;
  readonly head: { readonly seq: number; readonly hash: string };
  readonly snapshots: readonly SnapshotRecord[];
  readonly manifests: ReadonlyMap<string, Buffer>;
  /** Parts by request. */
  readonly parts: readonly Buffer[];
}

/** Reads all that a keeper holds. `partBytes`: size of a part at most. */
export async function load(from: KeeperClient, partBytes = maxPartBytes): Promise<Cargo> {
  const snapshots = await from.snapshots();
  const manifests = new Map<string, Buffer>();
  for (const { id } of snapshots) manifests.set(id, await from.manifest(id));
  const sizes = new Map([...manifests.values()].flatMap(contentsOf));
  const parts: Buffer[] = [];
  for (const [sha256, size] of sizes) for (const part of cut(sha256, size, partBytes)) parts.push(await from.exportParts([part]));
  const records: AuditRecord[] = [];
  for await (const record of from.events()) records.push(record);
  const last = records.at(-1);
  const log = Buffer.from(records.map((record) => `${canonicalJson(record)}\n`).join(''));
  return { log, head: { seq: last?.seq ?? 0, hash: last?.hash ?? '' }, snapshots, manifests, parts };
}

/** Brings it into a fresh keeper. `step` is called before each request. */
export async function unload(to: KeeperClient, cargo: Cargo, step: (name: string) => void = () => undefined): Promise<Adopted> {
  step('begin');
  await to.beginAdoption();
  step('log');
  await to.adoptLog(cargo.log);
  for (const part of cargo.parts) {
    step('parts');
    await to.adoptParts(part);
  }
  for (const [id, text] of cargo.manifests) {
    step('manifest');
    await to.adoptManifest(id, text);
  }
  step('commit');
  return to.commitAdoption({ origin: 'test', head: cargo.head, snapshots: [...cargo.snapshots] });
}

/** Hash and size of each file of a manifest, by the form of its lines alone. */
export function contentsOf(text: Buffer): [string, number][] {
  const lines = text.toString('latin1').split('\n');
  return lines
    .filter((line) => line.startsWith('f '))
    .map((line) => line.split(' '))
    .map(([, , size = '', sha256 = '']) => [sha256, Number(size)]);
}

function cut(sha256: string, size: number, most: number): Part[] {
  const parts: Part[] = [];
  for (let offset = 0; offset < size || parts.length === 0; offset += most) {
    parts.push({ sha256, size, offset, length: Math.min(most, size - offset) });
  }
  return parts;
}

export const digestOf = (text: Buffer): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
