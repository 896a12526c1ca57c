import { Readable } from 'node:stream';
import { pack, type Pack } from 'tar-stream';
import type { ExternalEffect } from '@agentfleet/protocol/keeper';
import { changesXattrs, compareManifests } from '../compare.ts';
import type { Contents } from '../contents.ts';
import { describeChange } from '../diff/treeDiff.ts';
import type { RootBytes } from '../engine.ts';
import { hexOf, type Manifest, type ManifestEntry, type SkippedPath } from '../manifest.ts';
import { displayPath } from '../pathBytes.ts';
import { planRestore } from '../restore/plan.ts';
import { makeScript } from './script.ts';

const REASONS: Record<SkippedPath['kind'], string> = {
  fifo: 'a fifo is not captured: one that was deleted is not made again',
  socket: 'a socket is not captured: one that was deleted is not made again',
  device: 'a device is not captured: one that was deleted is not made again',
  unreadable: 'closed to the keeper: neither captured nor changed',
  mount: 'another file system is mounted here: neither captured nor changed',
  acl: 'its POSIX ACL is not captured: what is made again has none',
  capability: 'its file capabilities are not captured: what is made again has none',
};

const XATTR_REASON = 'extended attributes: the script sets them where setfattr is installed, and says so where it is not';

/** What no bundle brings back, whatever the change was. */
const NEVER = [
  'effects outside of the roots: network, other processes, databases',
  'POSIX ACLs, file capabilities, security labels, ownership',
  'change and birth times, inode numbers, the exact places of holes',
];

export interface BundleSide {
  readonly name: string;
  readonly manifest: Manifest;
}

/** The tar of `revert.sh` (to → from), `redo.sh` (from → to), `description.json` and `objects/<sha256>`. */
export function makeBundle(
  from: BundleSide,
  to: BundleSide,
  roots: readonly RootBytes[],
  contents: Contents,
  external: readonly ExternalEffect[],
): Readable {
  const tar = pack();
  // Its reader gets every error through the iterator below; without a listener it would end the process, too.
  tar.on('error', () => undefined);
  fill(tar, { from, to, roots, external }, contents).then(
    () => tar.finalize(),
    (error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return Readable.from(tar, { objectMode: false });
}

/** What a bundle is made from. */
interface Parts {
  readonly from: BundleSide;
  readonly to: BundleSide;
  readonly roots: readonly RootBytes[];
  readonly external: readonly ExternalEffect[];
}

async function fill(tar: Pack, parts: Parts, contents: Contents): Promise<void> {
  const { from, to, roots } = parts;
  const back = { state: to.manifest, goal: from.manifest, title: `takes ${to.name} back to ${from.name}` };
  const forth = { state: from.manifest, goal: to.manifest, title: `makes ${from.name} into ${to.name} again` };
  await addBuffer(tar, 'revert.sh', 0o755, Buffer.from(makeScript(back, roots), 'latin1'));
  await addBuffer(tar, 'redo.sh', 0o755, Buffer.from(makeScript(forth, roots), 'latin1'));
  await addBuffer(tar, 'description.json', 0o644, Buffer.from(`${JSON.stringify(describe(parts), null, 2)}\n`));
  const seen = new Set<string>();
  for (const { state, goal } of [back, forth]) {
    for (const entry of planRestore(state, goal).place) {
      if (entry.type !== 'f' || entry.link !== '' || seen.has(entry.hash)) continue;
      seen.add(entry.hash);
      await addObject(tar, entry, contents);
    }
  }
}

function describe({ from, to, roots, external }: Parts) {
  const changes = compareManifests(from.manifest, to.manifest);
  const skipped = new Map([...from.manifest.skipped, ...to.manifest.skipped].map((skip) => [skip.path, skip]));
  return {
    from: { snapshot: from.name, manifestDigest: from.manifest.digest },
    to: { snapshot: to.name, manifestDigest: to.manifest.digest },
    roots: roots.map(({ name }) => name),
    ops: changes.map(describeChange),
    irreversible: [
      ...Array.from(skipped.values(), ({ path, kind }) => ({ path, kind, reason: REASONS[kind] })),
      ...changes.filter(changesXattrs).map(({ path }) => ({ path: displayPath(path), kind: 'xattr', reason: XATTR_REASON })),
    ],
    external,
    neverReverted: NEVER,
  };
}

function addBuffer(tar: Pack, name: string, mode: number, content: Buffer): Promise<void> {
  return addPieces(tar, { name, mode, size: content.length }, [content]);
}

/** Streams one object: at most one piece of it is in memory. */
function addObject(tar: Pack, entry: ManifestEntry, contents: Contents): Promise<void> {
  return addPieces(tar, { name: `objects/${hexOf(entry.hash)}`, mode: 0o644, size: entry.size }, contents.chunks(entry));
}

async function addPieces(tar: Pack, header: Parameters<Pack['entry']>[0], pieces: Iterable<Buffer>): Promise<void> {
  const done = Promise.withResolvers<void>();
  const sink: NodeJS.WritableStream = tar.entry(header, (error) => (error ? done.reject(error) : done.resolve()));
  // Both end early with the tar's own error when its reader goes away or a content is corrupt.
  sink.on('error', () => undefined);
  done.promise.catch(() => undefined);
  for (const piece of pieces) {
    // Copied, because a piece is only valid until the next one.
    if (!sink.write(Buffer.from(piece))) await drained(sink, done.promise);
  }
  sink.end();
  await done.promise;
}

/** Waits until the reader of the tar has caught up; rejects when the tar is destroyed meanwhile. */
async function drained(sink: NodeJS.WritableStream, done: Promise<void>): Promise<void> {
  const drain = Promise.withResolvers<void>();
  sink.once('drain', drain.resolve);
  await Promise.race([drain.promise, done]);
}
