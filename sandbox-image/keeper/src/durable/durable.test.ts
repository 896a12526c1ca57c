import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { maxPartBytes, partHeader, partsOf } from '@agentfleet/protocol/keeper';
import { crashPoints } from '../snapshot/testing/crashPoints.ts';
import { describeTree } from '../snapshot/testing/harness.ts';
import type { Harness } from '../testing/index.ts';
import { contentsOf, digestOf, load, unload, type Cargo } from './testing/carry.ts';
import { startRealKeeper } from './testing/pair.ts';

let old: Harness;
const opened: Harness[] = [];

async function fresh(env: Readonly<Record<string, string>> = {}): Promise<Harness> {
  const harness = await startRealKeeper({ env });
  opened.push(harness);
  return harness;
}

const tree = (of: Harness): readonly string[] => describeTree(of.workspace, 'workspace', new Map());

/** Two snapshots, one in the middle that is gone, notes, and a file that needs several parts. */
async function live(harness: Harness): Promise<void> {
  mkdirSync(join(harness.workspace, 'src'));
  writeFileSync(join(harness.workspace, 'src', 'a.py'), 'x = 1\n', { mode: 0o755 });
  await harness.client().takeSnapshot('empty');
  writeFileSync(join(harness.workspace, 'big'), randomBytes(3_000_000));
  writeFileSync(join(harness.workspace, 'src', 'b.py'), '');
  await harness.client().takeSnapshot('initial');
  await harness.client().note('Green', { attempt: 1, snapshot: 's0002' });
}

async function withKeeper(): Promise<void> {
  old = await fresh();
  await live(old);
}

afterEach(async () => {
  for (const harness of opened.splice(0)) await harness[Symbol.asyncDispose]();
});

describe('parts', () => {
  const part = { sha256: 'ab'.repeat(32), size: 9, offset: 4, length: 5 };

  it('decode to the written bytes', () => {
    const buffer = Buffer.concat([partHeader(part), Buffer.from('hello'), partHeader({ ...part, offset: 0, length: 0 })]);
    expect([...partsOf(buffer)].map(({ bytes, ...reported }) => [reported, bytes.toString()])).toEqual([
      [part, 'hello'],
      [{ ...part, offset: 0, length: 0 }, ''],
    ]);
  });

  it.each([
    ['a header that ends early', partHeader(part).subarray(0, 20)],
    ['bytes that end early', Buffer.concat([partHeader(part), Buffer.from('hell')])],
    ['more than the content has', Buffer.concat([partHeader({ ...part, length: 6 }), Buffer.from('hello!')])],
    ['more than one part may have', partHeader({ ...part, size: 2 ** 40, length: maxPartBytes + 1 })],
  ])('are refused: %s', (_, buffer) => {
    expect(() => [...partsOf(buffer)]).toThrow(/header|fit/);
  });
});

describe('a keeper that continues for a lost one', () => {
  beforeEach(withKeeper);

  it('drops the adoption when a snapshot is taken in the middle, and damages neither', async () => {
    const cargo = await load(old.client(), 1_000_000);
    const next = await fresh();
    const client = next.client(2);
    await client.beginAdoption();
    // The first parts of a large content: the snapshot arrives before its last.
    const large = cargo.parts.filter((part) => [...partsOf(part)].some(({ size }) => size === 3_000_000));
    for (const part of large.slice(0, 2)) await client.adoptParts(part);
    writeFileSync(join(next.workspace, 'own'), randomBytes(100_000));
    const { id } = await client.takeSnapshot('initial');
    const before = tree(next);
    await expect(client.adoptParts(large[2] ?? Buffer.alloc(0))).rejects.toMatchObject({ code: 'AF_ADOPTION_INVALID' });
    await expect(unload(client, cargo)).rejects.toMatchObject({ code: 'AF_NOT_FRESH' });
    writeFileSync(join(next.workspace, 'own'), 'changed');
    await next.stop();
    await next.start();
    await next.runner();
    expect(await next.client(2).restore(id)).toMatchObject({ verified: true });
    expect(tree(next)).toEqual(before);
    expect((await next.client(2).scrub()).broken).toEqual([]);
  });

  it('has its snapshots with ids, labels and digests, its log, and its tree after a restore', async () => {
    const before = tree(old);
    const cargo = await load(old.client(), 1_000_000);
    for (const { id, manifestDigest } of cargo.snapshots) expect(digestOf(cargo.manifests.get(id) ?? Buffer.alloc(0))).toBe(manifestDigest);
    const next = await fresh();
    const adopted = await unload(next.client(2), cargo);
    expect(adopted).toEqual({ records: cargo.head.seq, root: cargo.head.hash, snapshots: ['s0001', 's0002'] });
    expect(await next.client(2).snapshots()).toEqual(cargo.snapshots);
    expect(await next.client(2).restore('s0002')).toMatchObject({ verified: true, manifestDigest: cargo.snapshots[1]?.manifestDigest });
    expect(tree(next)).toEqual(before);
    const audit = await next.client(2).audit();
    expect(audit).toMatchObject({ ok: true, broken: null });
    const types: string[] = [];
    for await (const { seq, hash, type, body } of next.client(2).events()) {
      if (seq === cargo.head.seq) expect(hash).toBe(cargo.head.hash);
      if (seq > cargo.head.seq) types.push(type);
      if (type === 'Adopted') expect(body).toMatchObject({ origin: 'test', root: cargo.head.hash, records: cargo.head.seq });
    }
    expect(types.slice(0, 1)).toEqual(['KeeperStarted']);
    expect(types).toContain('Adopted');
  });

  it('continues after a restart, and reuses no id of the lost one', async () => {
    writeFileSync(join(old.workspace, 'later'), 'x');
    await old.client().takeSnapshot('later');
    const cargo = await load(old.client());
    const { snapshots, manifests } = cargo;
    manifests.get('s0003');
    const next = await fresh();
    await unload(next.client(2), { ...cargo, snapshots: snapshots.slice(0, 2) });
    await next.stop();
    await next.start();
    await next.runner();
    expect((await next.client(3).audit()).ok).toBe(true);
    expect((await next.client(3).snapshots()).map(({ id }) => id)).toEqual(['s0001', 's0002']);
    expect((await next.client(3).takeSnapshot()).id).toBe('s0004');
  });

  it('stores a content once although several snapshots name it, and exports what it adopted', async () => {
    const cargo = await load(old.client());
    const next = await fresh();
    await unload(next.client(2), { ...cargo, parts: [...cargo.parts, ...cargo.parts] });
    const again = await load(next.client(2));
    expect(again.snapshots).toEqual(cargo.snapshots);
    expect(again.parts.map((bytes) => digestOf(bytes)).sort()).toEqual(cargo.parts.map((bytes) => digestOf(bytes)).sort());
  });
});

describe('an adoption is refused for', () => {
  beforeEach(withKeeper);

  const damages: readonly [string, string, (cargo: Cargo) => Cargo][] = [
    [
      'a small content that was altered',
      'AF_SNAPSHOT_OBJECT_CORRUPT',
      (cargo) => ({ ...cargo, parts: cargo.parts.map((one) => altered(one, 1, 1000)) }),
    ],
    [
      'a large content that was altered',
      'AF_SNAPSHOT_OBJECT_CORRUPT',
      (cargo) => ({ ...cargo, parts: cargo.parts.map((one) => altered(one, 1000)) }),
    ],
    ['a content that is missing', 'AF_SNAPSHOT_OBJECT_CORRUPT', (cargo) => ({ ...cargo, parts: cargo.parts.slice(1) })],
    ['a content that ends early', 'AF_ADOPTION_INVALID', (cargo) => ({ ...cargo, parts: cargo.parts.map((part) => part.subarray(0, -1)) })],
    [
      'a manifest that was altered',
      'AF_SNAPSHOT_OBJECT_CORRUPT',
      (cargo) => ({ ...cargo, manifests: new Map([...cargo.manifests].map((one, at) => (at === 1 ? otherMode(one) : one))) }),
    ],
    ['a manifest that is missing', 'AF_ADOPTION_INVALID', (cargo) => ({ ...cargo, manifests: new Map([...cargo.manifests].slice(1)) })],
    [
      'a log that was altered',
      'AF_ADOPTION_INVALID',
      (cargo) => ({ ...cargo, log: Buffer.from(cargo.log.toString().replace('Green', 'Great')) }),
    ],
    [
      'a log without its end',
      'AF_ADOPTION_INVALID',
      (cargo) => ({ ...cargo, log: cargo.log.subarray(0, cargo.log.lastIndexOf('\n', -2) + 1) }),
    ],
    ['another head than the log has', 'AF_ADOPTION_INVALID', (cargo) => ({ ...cargo, head: { ...cargo.head, hash: '0'.repeat(64) } })],
    ['snapshots in another order', 'AF_ADOPTION_INVALID', (cargo) => ({ ...cargo, snapshots: cargo.snapshots.toReversed() })],
  ];

  it.each(damages)('%s, and the keeper stays empty', async (_, code, damage) => {
    const cargo = await load(old.client());
    const next = await fresh();
    await expect(unload(next.client(2), damage(cargo))).rejects.toMatchObject({ code });
    await next.client(2).dropAdoption();
    expect(existsSync(join(next.store, 'adoption'))).toBe(false);
    expect(await next.client(2).snapshots()).toEqual([]);
    // The complete cargo is accepted after that: the damaged one leaves no trace.
    await unload(next.client(2), cargo);
    expect((await next.client(2).restore('s0002')).verified).toBe(true);
  });

  it('a keeper with a history of its own', async () => {
    const cargo = await load(old.client());
    const used = await fresh();
    await used.client(2).note('Something', {});
    await expect(unload(used.client(2), cargo)).rejects.toMatchObject({ code: 'AF_NOT_FRESH' });
    const full = await fresh();
    await unload(full.client(2), cargo);
    await expect(unload(full.client(2), cargo)).rejects.toMatchObject({ code: 'AF_NOT_FRESH' });
  });

  it('a note in the middle ends the adoption', async () => {
    const cargo = await load(old.client());
    const next = await fresh();
    const client = next.client(2);
    await client.beginAdoption();
    await client.adoptLog(cargo.log);
    await client.note('Something', {});
    await expect(client.commitAdoption({ origin: 'test', head: cargo.head, snapshots: [] })).rejects.toMatchObject({
      code: 'AF_NOT_FRESH',
    });
  });

  it('an older assignment, and a commit without a beginning', async () => {
    const next = await fresh();
    await next.client(5).beginAdoption();
    await expect(next.client(4).adoptLog(Buffer.alloc(0))).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    await next.client(5).dropAdoption();
    await expect(next.client(5).adoptLog(Buffer.alloc(0))).rejects.toMatchObject({ code: 'AF_ADOPTION_INVALID' });
  });

  it('more than its store may hold', async () => {
    const cargo = await load(old.client());
    const next = await fresh({ AGENTFLEET_STORE_LIMIT_BYTES: '2000000' });
    await expect(unload(next.client(2), cargo)).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
    await next.client(2).dropAdoption();
    expect(await next.client(2).snapshots()).toEqual([]);
  });

  it('parts that do not exist, or more than one answer holds', async () => {
    const none = { sha256: 'ab'.repeat(32), size: 1, offset: 0, length: 1 };
    await expect(old.client().exportParts([none])).rejects.toMatchObject({ code: 'AF_SNAPSHOT_OBJECT_CORRUPT' });
    const huge = { ...none, size: maxPartBytes, length: maxPartBytes };
    await expect(old.client().exportParts([huge, huge])).rejects.toMatchObject({ code: 'AF_TOO_LARGE' });
    await expect(old.client().exportParts([{ ...none, length: 2 }])).rejects.toMatchObject({ code: 'AF_INVALID' });
  });
});

describe('a kill at any instant of an adoption', () => {
  beforeEach(withKeeper);

  it('leaves a keeper that knows nothing or all', { timeout: 300_000 }, async () => {
    const cargo = await load(old.client(), 1_500_000);
    const next = await startRealKeeper({ onPlaced: () => copy('placed') });
    opened.push(next);
    const copies = join(next.dir, 'copies');
    const made: { readonly name: string; readonly path: string }[] = [];
    let at = '';
    mkdirSync(copies);
    const copy = (name: string): void => {
      at = name;
      const path = join(copies, String(made.length));
      cpSync(next.store, path, { recursive: true });
      made.push({ name, path });
    };
    // Instants between the steps, and before each change of a file that the engine makes in the last one.
    const points = await crashPoints(next.store, join(next.dir, 'points'), async () => {
      await unload(next.client(2), cargo, copy);
    });
    copy('after');
    const outcomes = new Set<string>();
    for (const path of [...made.map((one) => one.path), ...points]) outcomes.add(await stateAfterKill(path, cargo));
    expect(at).toBe('after');
    expect(made.map(({ name }) => name)).toContain('placed');
    expect(points.length).toBeGreaterThan(5);
    expect([...outcomes].sort()).toEqual(['adopted', 'fresh']);
  });
});

/** Returns the state of a keeper that starts with a store as a kill left it; throws when it is neither. */
async function stateAfterKill(store: string, cargo: Cargo): Promise<'adopted' | 'fresh'> {
  const harness = await startRealKeeper({ storeDir: store });
  try {
    const client = harness.client(9);
    expect(readdirSync(store)).not.toContain('adoption');
    expect((await client.audit()).ok).toBe(true);
    const ids = (await client.snapshots()).map(({ id }) => id);
    const adopted = ids.length > 0;
    if (!adopted) await unload(client, cargo);
    expect((await client.snapshots()).map(({ id }) => id)).toEqual(['s0001', 's0002']);
    expect((await client.restore('s0002')).verified).toBe(true);
    return adopted ? 'adopted' : 'fresh';
  } finally {
    await harness[Symbol.asyncDispose]();
    rmSync(store, { recursive: true, force: true });
  }
}

function altered(part: Buffer, least: number, most = Number.POSITIVE_INFINITY): Buffer {
  const copy = Buffer.from(part);
  const length = contentLength(copy);
  if (length >= least && length <= most) copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
}

function contentLength(part: Buffer): number {
  return [...partsOf(part)].reduce((sum, { length }) => sum + length, 0);
}

function otherMode([id, text]: [string, Buffer]): [string, Buffer] {
  expect(contentsOf(text).length).toBeGreaterThan(0);
  return [id, Buffer.from(text.toString('latin1').replace('f 0755', 'f 0777'), 'latin1')];
}
