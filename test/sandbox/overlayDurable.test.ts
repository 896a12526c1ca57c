import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSealer, Durability, PackShelf, type DurabilityOptions } from '@agentfleet/agent/durable';
import { createArtifactStore, type ArtifactStore } from '@agentfleet/agent/store';
import { silentLog, systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { shell, useNamespace } from './harness.ts';

/** The durable copy of a sandbox with layers is adopted by a new sandbox, with layers and without. */
const bench = useNamespace('layercopy', 'privileged');
const signal = new AbortController().signal;
let folder: string;
let store: ArtifactStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'layercopy-'));
  await mkdir(join(folder, 'store'));
  const place = { type: 'Volume', path: join(folder, 'store'), claim: 'store' } as const;
  store = createArtifactStore(place, { clock: systemClock, random: Math.random, spool: folder });
});
afterAll(() => rm(folder, { recursive: true }));

const written: string[] = [];

async function attach(sandbox: Sandbox, epoch: number, reported: DurabilityOptions['reported']): Promise<Durability> {
  const shelf = new PackShelf(store, createSealer(Buffer.alloc(32, 7)), systemClock);
  const worker = new Durability({
    store,
    shelf: () => Promise.resolve(shelf),
    task: { namespace: 'team', name: 'fix', uid: 'uid-of-fix' },
    epoch,
    checkpointSeconds: 120,
    reported,
    clock: systemClock,
    log: silentLog,
    onWritten: ({ uri }) => written.push(uri),
  });
  await worker.attach(sandbox.clientWith({ epoch }), signal);
  return worker;
}

const plant = `set -e; cd /workspace; mkdir -p src empty; printf 'a\\r\\nb' > src/crlf; echo secret > private; chmod 600 private; ln -s src/crlf link
ln private hard; git init -q nested; cd nested; git config user.email a@example.org; git config user.name a; echo 1 > f; git add f; git commit -qm one; head -c 3000000 /dev/urandom > ~/big`;
const change = 'cd /workspace; rm -r src; mkdir src; echo other > src/else; chmod 777 private; truncate -s 5 ~/big';

test.each([
  ['with layers', true],
  ['without layers', false],
])('a checkpoint of a sandbox with layers is restored, verified, in a new one %s', { timeout: 360_000 }, async (_, layered) => {
  const old = await bench.open({ layered: true });
  expect((await old.client.info()).snapshots).toMatchObject({ engine: 'Overlay' });
  const worker = await attach(old, 1, {});
  expect((await shell(old, plant, { timeoutSeconds: 30 })).end.exitCode).toBe(0);
  const before = await old.client.takeSnapshot('before');
  expect((await shell(old, change)).end.exitCode).toBe(0);
  const after = await old.client.takeSnapshot('after');
  await worker.checkpoint(signal);
  await old.close();

  const next = await bench.open({ layered });
  const going = await attach(next, 2, { checkpointURI: written.at(-1) ?? '' });
  const client = next.clientWith({ epoch: 2 });
  expect((await client.snapshots()).map(({ manifestDigest }) => manifestDigest)).toEqual([before.manifestDigest, after.manifestDigest]);
  expect((await client.diff(after.id)).entries).toEqual([]);
  expect(
    (await shell({ ...next, client }, 'cat /workspace/src/else; stat -c %s ~/big; git -C /workspace/nested log --format=%s')).stdout,
  ).toBe('other\n5\none\n');
  expect((await client.audit()).ok).toBe(true);
  // The adopted history can be gone back in, and gone on from.
  expect(await client.restore(before.id)).toMatchObject({ verified: true, manifestDigest: before.manifestDigest });
  expect((await shell({ ...next, client }, 'stat -c %s ~/big; stat -c %h /workspace/hard')).stdout).toBe('3000000\n2\n');
  await going.checkpoint(signal);
});
