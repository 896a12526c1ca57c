import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { constants, createZstdCompress } from 'node:zlib';
import { createSealer, Durability, PackShelf } from '@agentfleet/agent/durable';
import { createArtifactStore, type ArtifactStore } from '@agentfleet/agent/store';
import { startRealKeeper, type Harness } from '@agentfleet/keeper/durable/testing';
import { Program, setMetaByRunner } from '@agentfleet/keeper/snapshot';
import { silentLog, systemClock } from '@agentfleet/kube';
import { hostArch, runnerBinary, s3ServerBinary } from '../images/index.ts';
import { startLocalServer } from '../storage/localServer.ts';
import { quantile } from '@agentfleet/protocol/stats';
import type { Row } from './report/table.ts';

const files = 10_000;
const bytesPerFile = 5000;
const signal = new AbortController().signal;
const rounds = 5;

/** Source code is half noise to a compressor. */
function fill(workspace: string): void {
  for (let at = 0; at < files; at += 1) {
    const folder = join(workspace, `d${Math.floor(at / 100)}`);
    mkdirSync(folder, { recursive: true });
    const noise = randomBytes(bytesPerFile / 4).toString('hex');
    writeFileSync(join(folder, `f${at}`), noise.padEnd(bytesPerFile, `line ${at}\n`));
  }
}

async function timed(job: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await job();
  return performance.now() - started;
}

function worker(store: ArtifactStore, epoch: number, checkpointURI?: string, key: Buffer | null = null): Durability {
  const shelf = new PackShelf(store, createSealer(key), systemClock);
  return new Durability({
    store,
    shelf: () => Promise.resolve(shelf),
    task: { namespace: 'bench', name: 'bench', uid: key === null ? 'plain' : 'sealed' },
    epoch,
    checkpointSeconds: 120,
    reported: checkpointURI === undefined ? {} : { checkpointURI },
    clock: systemClock,
    log: silentLog,
    onWritten: () => undefined,
  });
}

/** Stores the tree as one would without AgentFleet: all of it as a compressed tar, in the same store. */
async function putTar(store: ArtifactStore, workspace: string): Promise<void> {
  const tar = spawn('tar', ['-C', workspace, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(tar, 'close');
  const zstd = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  await store.put('tar/tree.tar.zst', Readable.from(tar.stdout.pipe(zstd)), 'application/zstd', signal);
  await closed;
}

async function getTar(store: ArtifactStore, into: string): Promise<void> {
  const content = await store.get('tar/tree.tar.zst', signal);
  const tar = spawn('tar', ['-C', into, '--zstd', '-xf', '-'], { stdio: ['pipe', 'inherit', 'inherit'] });
  const closed = once(tar, 'close');
  tar.stdin.end(content);
  await closed;
}

interface Changes {
  readonly noteMs: number;
  readonly restMs: number;
  readonly smallMs: number;
  readonly tarMs: number;
}

interface Figures extends Changes {
  readonly firstMs: number;
  readonly sealedMs: number;
  readonly backMs: number;
  readonly untarMs: number;
}

/** Copies of a tree that stays as it is, and of one in which a little changes; each row is a middle value. */
async function changes(store: ArtifactStore, old: Harness, mine: Durability): Promise<Changes> {
  const client = old.client();
  const times: Record<keyof Changes, number[]> = { noteMs: [], restMs: [], smallMs: [], tarMs: [] };
  for (let round = 0; round < rounds; round += 1) {
    await client.note('Step', { round });
    times.noteMs.push(await timed(() => mine.checkpoint(signal)));
    times.restMs.push(await timed(() => client.takeSnapshot('unchanged').then(() => mine.checkpoint(signal))));
    for (let file = 0; file < 7; file += 1) writeFileSync(join(old.workspace, 'd1', `edit${file}`), randomBytes(4000));
    times.smallMs.push(await timed(() => client.takeSnapshot('edited').then(() => mine.checkpoint(signal))));
    times.tarMs.push(await timed(() => putTar(store, old.workspace)));
  }
  const { noteMs, restMs, smallMs, tarMs } = times;
  return { noteMs: quantile(noteMs, 0.5), restMs: quantile(restMs, 0.5), smallMs: quantile(smallMs, 0.5), tarMs: quantile(tarMs, 0.5) };
}

async function measure(store: ArtifactStore, old: Harness, next: () => Promise<Harness>): Promise<Figures> {
  const client = old.client();
  await client.takeSnapshot('initial');
  const mine = worker(store, 1);
  await mine.attach(client, signal);
  const firstMs = await timed(() => mine.checkpoint(signal));
  const sealed = worker(store, 1, undefined, randomBytes(32));
  await sealed.attach(client, signal);
  const sealedMs = await timed(() => sealed.checkpoint(signal));
  const changed = await changes(store, old, mine);
  const keeper = await next();
  const backMs = await timed(() => worker(store, 2, 'the newest').attach(keeper.client(2), signal));
  const into = mkdtempSync(join(tmpdir(), 'untar-'));
  const untarMs = await timed(() => getTar(store, into));
  rmSync(into, { recursive: true });
  return { firstMs, sealedMs, ...changed, backMs, untarMs };
}

/** Durable copies of 10,000 files (50 MB) in a real S3 server, beside a compressed tar of the tree in the same one. */
export async function durableRows(): Promise<readonly Row[]> {
  const server = await startLocalServer(await s3ServerBinary());
  const { endpoint, credentialFile, bucket } = server;
  const place = { type: 'S3' as const, uri: `s3://${bucket}/bench`, endpoint, region: 'us-east-1', forcePathStyle: true, credentialFile };
  const store = createArtifactStore(place, { clock: systemClock, random: Math.random });
  const keepers: Harness[] = [];
  const setMeta = setMetaByRunner(new Program((await runnerBinary(hostArch())).file));
  const open = async (): Promise<Harness> => {
    const keeper = await startRealKeeper({ setMeta });
    keepers.push(keeper);
    return keeper;
  };
  try {
    const old = await open();
    fill(old.workspace);
    const { firstMs, sealedMs, noteMs, restMs, smallMs, backMs, tarMs, untarMs } = await measure(store, old, open);
    const row = (name: string, ours: number, peer: number, note: string): Row => ({
      measure: `durable copy of ${files.toLocaleString('en')} files, 50 MB: ${name}`,
      ours,
      unit: 'ms',
      peer: { name: 'tar with zstd -1', value: peer },
      note,
    });
    return [
      row('first', firstMs, tarMs, 'contents, manifest, log and index; the tree was captured before'),
      row('first, encrypted', sealedMs, tarMs, 'AES-256-GCM; the tar is not'),
      row('no file changed', noteMs, tarMs, 'only the log has grown'),
      row('no file changed, at rest', restMs, tarMs, 'with the snapshot that looks at the whole tree'),
      row('7 files changed', smallMs, tarMs, 'with the snapshot of them'),
      row('back in a new sandbox', backMs, untarMs, 'ours verifies every content, the log and the tree; the tar verifies nothing'),
    ];
  } finally {
    for (const keeper of keepers) await keeper[Symbol.asyncDispose]();
    await server.close();
  }
}
