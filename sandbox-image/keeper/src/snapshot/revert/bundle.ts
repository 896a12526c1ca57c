import type { SkippedPath } from '@agentfleet/protocol/keeper';
import type { RootBytes } from '../base/manifest.ts';
import { hexOf, type Manifest, type ManifestEntry, compareManifests, type Change, changesXattrs } from '../base/manifest.ts';
import { bytesOf, displayPath, parentOf, type BytePath } from '../base/pathBytes.ts';
import { planRestore, type RestorePlan } from '../restore/plan.ts';
import { describeChange } from '../diff/treeDiff.ts';
import { decodeXattrs } from '../base/xattrs.ts';
import { MAIN, PRELUDE } from './prelude.ts';
import { OPENING, optionsOf } from './script.ts';
import { Readable } from 'node:stream';
import { pack, type Pack } from 'tar-stream';
import type { ExternalEffect } from '@agentfleet/protocol/keeper';
import type { Contents } from '../restore/contents.ts';

/** Direction of a script: the state it expects and the one it makes. */
interface Direction {
  readonly state: Manifest;
  readonly goal: Manifest;
  /** For people: `s0002 → s0001`. */
  readonly title: string;
}

/** Single-quotes any bytes for sh. */
export function quote(bytes: BytePath): string {
  return `'${bytes.replaceAll("'", `'\\''`)}'`;
}

/**
 * The script for one direction, as bytes (latin1 text): fixed functions, then one function per
 * phase that lists the paths. Running it again after any interruption is allowed.
 */
function makeScript({ state, goal, title }: Direction, roots: readonly RootBytes[]): string {
  const plan = planRestore(state, goal);
  const changes = compareManifests(state, goal);
  const counts = `${plan.created} to create, ${plan.modified} to modify, ${plan.deleted} to delete`;
  return [
    `#!/bin/sh\n# ${title}\n# ${counts}. Made by AgentFleet; see description.json.`,
    OPENING,
    PRELUDE,
    options(roots, goal, changes),
    ...readingPhases(state, changes, plan),
    ...writingPhases(plan, state),
    phase('check', checks(changes, plan)),
    MAIN,
  ].join('\n');
}

/** Phases before the first change. */
function readingPhases(state: Manifest, changes: readonly Change[], plan: RestorePlan): string[] {
  const hashes = new Set(plan.place.filter(hasContent).map(({ hash }) => hexOf(hash)));
  return [
    phase('widen', numbered('widen', plan.open)),
    phase('narrow', numbered('narrow', plan.open).reverse()),
    phase('guard', guards(state, changes, plan)),
    phase(
      'list',
      changes.map((change) => `tell "$ROOT_${rootOf(change.path)}" ${quote(shown(change))}`),
    ),
    phase(
      'objects',
      Array.from(hashes, (hex) => `object ${hex}`),
    ),
  ];
}

function shown(change: Change): BytePath {
  return bytesOf(`${describeChange(change).op} ${displayPath(change.path)}`);
}

function writingPhases(plan: RestorePlan, state: Manifest): string[] {
  const known = new Map(state.entries.map((entry) => [entry.path, entry]));
  const removing = plan.remove.map(({ path, directory }) => `${directory ? 'gonedir' : 'gone'} ${place(path)}`);
  const making = plan.mkdir.map(({ path }) => `makedir ${place(path)}`);
  const modes = plan.chmod.map((entry) => `perm ${place(entry.path)} ${chmodMode(entry)}`);
  const attributes = plan.xattrs.flatMap((entry) => xattrLines(entry, known.get(entry.path)));
  const times = plan.times.map((entry) => `when ${place(entry.path)} ${seconds(entry).join(' ')}`);
  const closing = plan.dirModes.map((entry) => `close ${place(entry.path)} ${chmodMode(entry)} ${entry.mode.toString(8)}`);
  return [
    phase('remove', removing),
    phase('make', making),
    phase('place', plan.place.map(placing)),
    phase('perm', modes),
    phase('attr', attributes),
    phase('time', times),
    phase('close', closing),
  ];
}

function numbered(command: string, entries: readonly ManifestEntry[]): string[] {
  return entries.map(({ path }, at) => `${command} ${at} ${place(path)}`);
}

function checks(changes: readonly Change[], plan: RestorePlan): string[] {
  const touched = new Set(changes.map(({ path }) => path));
  const disturbed = plan.times.filter((entry) => !touched.has(entry.path));
  return [...changes.flatMap(({ path, to }) => check(path, to)), ...disturbed.flatMap((entry) => check(entry.path, entry))];
}

function options(roots: readonly RootBytes[], goal: Manifest, changes: readonly Change[]): string {
  const named = roots.map(({ name, path }) => {
    const count = changes.filter((change) => rootOf(change.path) === name).length;
    return { name, folder: quote(path), count };
  });
  return optionsOf(goal.digest.slice(7, 23), named);
}

function phase(name: string, lines: readonly string[]): string {
  return `${name}_all() {\n${lines.length === 0 ? '  :' : lines.map((line) => `  ${line}`).join('\n')}\n}\n`;
}

/** The two arguments root and relative path. */
function place(path: BytePath): string {
  const name = rootOf(path);
  return `"$ROOT_${name}" ${quote(path.slice(name.length + 1))}`;
}

function rootOf(path: BytePath): string {
  return path.slice(0, path.indexOf('/'));
}

function hasContent(entry: ManifestEntry): boolean {
  return entry.type === 'f' && entry.link === '';
}

/** Returns one line for each attribute that is removed or set. Attributes of other edits stay. */
function xattrLines({ path, xattrs }: ManifestEntry, before: ManifestEntry | undefined): string[] {
  const wanted = decodeXattrs(xattrs);
  const stays = new Set(wanted.map(({ name }) => name));
  const gone = decodeXattrs(before?.xattrs ?? '').filter(({ name }) => !stays.has(name));
  return [
    ...gone.map(({ name }) => `unattr ${place(path)} ${quote(name)}`),
    ...wanted.map(({ name, value }) => `attr ${place(path)} ${quote(name)} ${value.length === 0 ? "''" : `0s${value.toString('base64')}`}`),
  ];
}

function placing(entry: ManifestEntry): string {
  if (entry.type === 'l') return `point ${place(entry.path)} ${quote(entry.link)}`;
  if (hasContent(entry)) return `put ${place(entry.path)} ${hexOf(entry.hash)} ${chmodMode(entry)}`;
  return `join ${place(entry.path)} ${place(entry.link)}`;
}

/** Five digits: only then does GNU chmod also clear the set-id bits of a directory. */
function chmodMode(entry: ManifestEntry): string {
  return entry.mode.toString(8).padStart(5, '0');
}

/** Whole seconds and `.nanoseconds` the way touch and stat write them: −1.5 s is `-1 .500000000`. */
function seconds({ mtimeNs }: ManifestEntry): [string, string] {
  const size = mtimeNs < 0n ? -mtimeNs : mtimeNs;
  return [`${mtimeNs < 0n ? '-' : ''}${size / 1_000_000_000n}`, `.${String(size % 1_000_000_000n).padStart(9, '0')}`];
}

function token(entry: ManifestEntry | null): string {
  if (entry === null) return '-';
  if (entry.type === 'd') return 'd';
  return entry.type === 'l' ? quote(`l:${entry.link}.`) : `f:${hexOf(entry.hash)}`;
}

/** States that the guard accepts: the expected state, the goal, and those of an interrupted run. */
function guards(state: Manifest, changes: readonly Change[], plan: RestorePlan): string[] {
  const children = new Map<BytePath, BytePath[]>(plan.remove.filter(({ directory }) => directory).map(({ path }) => [path, []]));
  const paths = [...state.entries.map(({ path }) => path), ...plan.remove.map(({ path }) => path)];
  for (const path of new Set(paths)) children.get(parentOf(path))?.push(path.slice(path.lastIndexOf('/') + 1));
  const known = new Set(state.entries.map(({ path }) => path));
  const specials = new Set(plan.remove.map(({ path }) => path).filter((path) => !known.has(path)));
  const wants = changes.map(({ path, from, to }) => {
    const between = from?.type === to?.type ? [] : ['-'];
    const tokens = new Set([token(from), token(to), ...between, ...(specials.delete(path) ? ['special'] : [])]);
    return `want ${place(path)} '${guardModes(from, to)}' ${[...tokens].join(' ')}`;
  });
  return [
    ...wants,
    ...Array.from(specials, (path) => `want ${place(path)} '' special -`),
    ...Array.from(children, ([path, names]) => `only ${place(path)} ${names.map(quote).join(' ')}`),
  ];
}

function guardModes(from: ManifestEntry | null, to: ManifestEntry | null): string {
  const modes = [from, to].flatMap((entry) => {
    if (entry === null || entry.type === 'l') return [];
    return entry.type === 'd' ? [entry.mode, entry.mode | 0o700] : [entry.mode];
  });
  return [...new Set(modes)].map((mode) => mode.toString(8)).join(' ');
}

function check(path: BytePath, entry: ManifestEntry | null): string[] {
  if (entry === null) return [`check ${place(path)} - - -`];
  const lines = [`check ${place(path)} ${token(entry)} ${entry.mode.toString(8)} ${seconds(entry).join('')}`];
  if (entry.type === 'f' && entry.link !== '') lines.push(`same ${place(path)} ${place(entry.link)}`);
  return lines;
}

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

/** State that no bundle restores. */
const NEVER = [
  'effects outside of the roots: network, other processes, databases',
  'POSIX ACLs, file capabilities, security labels, ownership',
  'change and birth times, inode numbers, the exact places of holes',
];

interface BundleSide {
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
  // Both end early with the tar's own error when its reader disconnects or a content is corrupt.
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
