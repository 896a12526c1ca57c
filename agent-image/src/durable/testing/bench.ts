import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeTree, startRealKeeper, type Harness } from '@agentfleet/keeper/durable/testing';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { Durability, type DurabilityOptions } from '../durability.ts';
import { createSealer } from '../seal.ts';
import { PackShelf } from '../shelf.ts';
import type { Written } from '../writer.ts';
import { MemoryStore } from './memoryStore.ts';

export const signal = new AbortController().signal;
export const task = { namespace: 'team', name: 'fix', uid: '0b1c' };

/** A sandbox that knows nothing yet, and the worker that is going to use it. */
export interface Elsewhere {
  readonly keeper: Harness;
  readonly worker: Durability;
  attach(): Promise<void>;
}

/** Reports whether a keeper holds only its own records. */
export async function knowsNothing({ keeper }: Elsewhere): Promise<boolean> {
  const own = new Set(['KeeperStarted', 'ToolsConnected', 'NetworkProbed', 'EpochRaised']);
  return (await keeper.client(2).snapshots()).length === 0 && (await records(keeper, 2)).every(({ type }) => own.has(type));
}

/** Keepers and one store, as a task and its workers have them. */
export class DurableBench implements AsyncDisposable {
  readonly store = new MemoryStore();
  readonly written: Written[] = [];
  gaps = 0;
  key: Buffer | null = null;
  earlierKeys: readonly Buffer[] = [];
  readonly #keepers: Harness[] = [];

  async keeper(env: Readonly<Record<string, string>> = {}): Promise<Harness> {
    const harness = await startRealKeeper({ env });
    this.#keepers.push(harness);
    return harness;
  }

  /** Starts a separate worker: it knows only what `change` reports. */
  worker(change: Partial<DurabilityOptions> = {}): Durability {
    const shelf = new PackShelf(this.store, createSealer(this.key, this.earlierKeys), systemClock);
    return new Durability({
      store: this.store,
      shelf: () => Promise.resolve(shelf),
      task,
      epoch: 1,
      checkpointSeconds: 120,
      reported: {},
      clock: systemClock,
      log: silentLog,
      onWritten: (written) => this.written.push(written),
      onGap: () => (this.gaps += 1),
      ...change,
    });
  }

  /** Options of a worker that finds the newest checkpoint in the report. */
  get reported(): DurabilityOptions['reported'] {
    const last = this.written.at(-1);
    return last === undefined ? {} : { checkpointURI: last.uri, auditRoot: last.head.hash };
  }

  /** Key of the newest checkpoint. */
  newest(): string {
    return this.store.keys('.json').at(-1) ?? '';
  }

  /** Flips the last bit of the blob under a key. */
  alter(key: string): void {
    const object = this.store.objects.get(key);
    if (object === undefined) throw new Error(`no ${key}`);
    object.content[object.content.length - 1] = (object.content.at(-1) ?? 0) ^ 1;
  }

  /** A task with two checkpoints, and a keeper that is lost after the second. */
  async lost() {
    const old = await this.keeper();
    await live(old);
    const worker = this.worker();
    await worker.attach(old.client(), signal);
    await worker.checkpoint(signal);
    writeFileSync(join(old.workspace, 'more'), noise(5000));
    await old.client().takeSnapshot('result');
    await worker.checkpoint(signal);
    return { old, worker, before: tree(old), snapshots: await old.client().snapshots() };
  }

  /** A new sandbox under the next epoch. */
  async elsewhere(env: Readonly<Record<string, string>> = {}): Promise<Elsewhere> {
    const keeper = await this.keeper(env);
    const worker = this.worker({ epoch: 2, reported: this.reported });
    return { keeper, worker, attach: () => worker.attach(keeper.client(2), signal) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const keeper of this.#keepers) await keeper[Symbol.asyncDispose]();
  }
}

/** A tree with a few files, `empty` and `initial`. */
export async function live(harness: Harness, files: Readonly<Record<string, string | Buffer>> = {}): Promise<void> {
  await harness.client().takeSnapshot('empty');
  mkdirSync(join(harness.workspace, 'src'), { recursive: true });
  const all = { 'src/a.py': 'x = 1\n', 'src/b.py': 'the quick brown fox\n', bytes: Buffer.alloc(100_000, 'abc'), ...files };
  for (const [path, content] of Object.entries(all)) writeFileSync(join(harness.workspace, path), content);
  await harness.client().takeSnapshot('initial');
}

export function tree({ workspace }: Harness): readonly string[] {
  return describeTree(workspace, 'workspace', new Map());
}

export async function records(harness: Harness, epoch: number): Promise<readonly AuditRecord[]> {
  const all: AuditRecord[] = [];
  for await (const record of harness.client(epoch).events()) all.push(record);
  return all;
}

/** Data of the notes of a kind. */
export function notes(all: readonly AuditRecord[], kind: string): readonly unknown[] {
  return all.filter(({ type, body }) => type === 'Noted' && body['kind'] === kind).map(({ body }) => body['data']);
}

export const noise = (bytes: number): Buffer => randomBytes(bytes);
