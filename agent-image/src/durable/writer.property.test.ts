import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { silentLog, type Clock } from '@agentfleet/kube';
import { partHeader, type AuditRecord, type Part, type SnapshotRecord } from '@agentfleet/protocol/keeper';
import { StoreFailure, type ArtifactStore } from '../store/index.ts';
import { readEnvelope, manifestDigest, indexKey, manifestKey, packKey, placesOf } from './manifest.ts';
import { LogMirror } from './logMirror.ts';
import { createSealer } from './seal.ts';
import { PackShelf } from './shelf.ts';
import { graceMs, sweep } from './sweep.ts';
import { MemoryStore } from './testing/memoryStore.ts';
import { CheckpointWriter } from './writer.ts';

const seed = Number(process.env['AGENTFLEET_SEED'] ?? 1);
const signal = new AbortController().signal;
const contents = ['one', 'two', 'three', 'four'].map((text) => Buffer.from(text));
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A keeper for a writer, with snapshots of one content each. */
class Snapshots {
  readonly #texts = new Map<string, Buffer>();
  #all: SnapshotRecord[] = [];
  readonly #records: AuditRecord[] = [];

  take(content: number): void {
    const bytes = contents[content] ?? Buffer.alloc(0);
    const text = Buffer.from(`f 0644 ${bytes.length} ${sha256(bytes)} 0 a -\n`);
    const id = `s${String(this.#records.length + 1).padStart(4, '0')}`;
    this.#texts.set(id, text);
    this.#all.push({ id, manifestDigest: manifestDigest(text) } as SnapshotRecord);
    const seq = this.#records.length + 1;
    this.#records.push({ seq, at: '', type: 'SnapshotTaken', epoch: 1, body: { id }, prev: '', hash: `${seq}` });
  }

  collect(): void {
    this.#all = this.#all.slice(1);
  }

  snapshots = (): Promise<SnapshotRecord[]> => Promise.resolve([...this.#all]);
  manifest = (id: string): Promise<Buffer> => Promise.resolve(this.#texts.get(id) ?? Buffer.alloc(0));
  exportParts = (plan: readonly Part[]): Promise<Buffer> =>
    Promise.resolve(
      Buffer.concat(plan.flatMap((part) => [partHeader(part), contents.find((bytes) => sha256(bytes) === part.sha256) ?? Buffer.alloc(0)])),
    );
  async *events(from = 1): AsyncGenerator<AuditRecord> {
    yield* this.#records.slice(from - 1);
  }
}

/** Two tasks of a pool over one store that can fail, and time that passes. */
class Pool {
  readonly store = new MemoryStore();
  readonly clock: Clock = { now: () => this.store.now, monotonic: () => this.store.now, after: () => ({ cancel: () => undefined }) };
  readonly #shelf = new PackShelf(this.store, createSealer(null), this.clock);
  readonly tasks = ['a', 'b'].map((uid) => this.#task(uid));

  #task(uid: string): { readonly keeper: Snapshots; readonly writer: CheckpointWriter } {
    const task = { namespace: 'team', uid };
    const [keeper, places, store, shelf] = [new Snapshots(), placesOf(task), this.store as ArtifactStore, this.#shelf];
    const mirror = new LogMirror({ store, sealer: shelf.sealer, places, keeper, epoch: 1 });
    const writer = new CheckpointWriter({ store, shelf, places, mirror, keeper, task, epoch: 1, clock: this.clock, log: silentLog });
    return { keeper, writer };
  }

  sweep(): Promise<unknown> {
    return sweep({ store: this.store, log: silentLog, worker: 'other' }, signal);
  }

  /** Names that a checkpoint in the store relies on and that are not there. */
  missing(): string[] {
    return this.store.keys('.json').flatMap((key) => {
      const { packs, manifests } = readEnvelope(key, this.store.objects.get(key)?.content ?? Buffer.alloc(0));
      const named = [...packs.flatMap((name) => [packKey(name), indexKey(name)]), ...manifests.map(manifestKey)];
      return named.filter((name) => !this.store.objects.has(name)).map((name) => `${key} names ${name}`);
    });
  }
}

type Step =
  | { readonly do: 'take'; readonly task: number; readonly content: number }
  | { readonly do: 'collect'; readonly task: number }
  /** The store refuses puts of checkpoints, or everything from a call on, or nothing. */
  | { readonly do: 'write'; readonly task: number; readonly fails: 'Checkpoint' | 'Nothing' | number }
  | { readonly do: 'wait'; readonly graces: number }
  | { readonly do: 'sweep' };

const task = fc.integer({ min: 0, max: 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('take' as const), task, content: fc.nat({ max: contents.length - 1 }) }),
  fc.record({ do: fc.constant('collect' as const), task }),
  fc.record({
    do: fc.constant('write' as const),
    task,
    fails: fc.oneof(fc.constantFrom('Checkpoint' as const, 'Nothing' as const), fc.nat({ max: 12 })),
  }),
  fc.record({ do: fc.constant('wait' as const), graces: fc.constantFrom(0.001, 0.6, 1.1) }),
  fc.constant({ do: 'sweep' as const }),
);

async function act(pool: Pool, one: Step): Promise<void> {
  if (one.do === 'wait') pool.store.now += one.graces * graceMs;
  if (one.do === 'sweep') await pool.sweep();
  if (one.do === 'take') pool.tasks[one.task]?.keeper.take(one.content);
  if (one.do === 'collect') pool.tasks[one.task]?.keeper.collect();
  if (one.do !== 'write') return;
  let left = typeof one.fails === 'number' ? one.fails : Number.POSITIVE_INFINITY;
  pool.store.before = (call) => {
    if (left-- <= 0 || (one.fails === 'Checkpoint' && /^put checkpoints\/.*\.json$/.test(call)))
      throw new StoreFailure('Unavailable', call);
  };
  const written = pool.tasks[one.task]?.writer.write(signal);
  await (one.fails === 'Nothing' ? written : written?.catch(() => undefined));
  pool.store.comeBack();
}

it(`every checkpoint names existing blobs, whatever fails and whichever worker sweeps (seed ${seed})`, { timeout: 120_000 }, async () => {
  const histories = fc.array(step, { minLength: 12, maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const pool = new Pool();
      for (const one of steps) {
        await act(pool, one);
        expect(pool.missing()).toEqual([]);
      }
    }),
    { numRuns: 400, seed },
  );
});
