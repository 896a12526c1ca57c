import fs from 'node:fs';
import type { SkippedPath } from '@agentfleet/protocol/keeper';
import { type Manifest, type ManifestEntry, type Tree, digestOf, makeEntry } from '../base/manifest.ts';
import { type BytePath, byBytes, displayPath, sysPath } from '../base/pathBytes.ts';
import { type TreeNode, isSame, makeNode, statOf } from './node.ts';
import { SnapshotError, errnoOf } from '../base/errors.ts';
import type { ObjectStore } from '../objects/objectStore.ts';
import type { Slices } from '../base/slices.ts';
import type { XattrAccess } from '../base/xattrs.ts';
import { LISTABLE, type ModeGuard } from './modeGuard.ts';
import { NodeReader } from './nodeReader.ts';
import type { ReportedStat, StatCursor } from './statCursor.ts';
import { ReportedStats, type ReportedStatsOptions, type StatCache } from './statCache.ts';
import { MAX_NOTED, TreeBudget, TreeTooLarge } from './treeLimits.ts';
import { XattrScan } from './xattrScan.ts';

/** Names in a directory at which something may have changed; null for a name: anything at it and below. */
export type Below = ReadonlyMap<BytePath, Below | null>;

/** Nothing has changed. */
export const NOTHING: Below = new Map();

/**
 * Source of where a tree can have changed, so that the rest is not checked. Its omissions are trusted: it must be
 * exact, or report that it does not know.
 */
export interface TreeChanges {
  /** By root name, what may have changed since the last acknowledged scan; null: anything. */
  since(): ReadonlyMap<string, Below> | null;
  seen(): void;
}

/**
 * Makes every later name of a file point to its first one. Runs after each scan, over the sorted
 * nodes: which name is the first can change without any change to this node. Names outside of the
 * roots do not count.
 */
function groupHardLinks(nodes: readonly TreeNode[]): void {
  const first = new Map<string, string>();
  for (const node of nodes) {
    const { entry, linkKey } = node;
    if (entry === null || (linkKey === '' && (entry.type === 'l' || entry.link === ''))) continue;
    const known = linkKey === '' ? '' : (first.get(linkKey) ?? '');
    if (linkKey !== '' && known === '') first.set(linkKey, node.path);
    if (entry.link !== known) node.entry = makeEntry({ ...entry, link: known });
  }
}

/** Errors of the tree, not of the store: a failing volume, or a path that changed its type during the scan. */
const UNREADABLE: ReadonlySet<string> = new Set(['EIO', 'ENOTDIR', 'ENOENT', 'EACCES', 'EINVAL', 'ELOOP', 'EISDIR', 'ENXIO', 'ENOTSUP']);

/** The kernel's clock for ctime ticks up to every 10 ms; a change this close to the scan can hide a second one. */
const RACY_MS = 20;

interface Frame {
  readonly node: TreeNode;
  next: number;
  readonly widened: boolean;
  /** Names below at which something can have changed; null: anywhere. */
  readonly below: Below | null;
  /** A name in it of which nothing is reported need not be as it was. */
  readonly blind: boolean;
}

/** A record, or nothing new of a name that is as it was reported; null when it has to be asked for. */
type Reported = ReportedStat | 'same' | null;

interface Start {
  readonly top: TreeNode;
  readonly below: Below | null;
  readonly device: number;
  readonly seen: StatCursor | null;
}

interface ScannerOptions extends ReportedStatsOptions {
  readonly store: ObjectStore;
  readonly guard: ModeGuard;
  readonly cache: StatCache;
  /** Absent: extended attributes are not captured. */
  readonly xattrs?: XattrAccess | undefined;
  /** Absent: each scan checks everything. */
  readonly changes?: TreeChanges | undefined;
  /** Milliseconds since 1970 of the clock that the kernel stamps files with. */
  readonly now: () => number;
}

/**
 * Reads the tree into a manifest. Caches its results: an unchanged file costs one `lstat`, an unchanged directory is
 * not listed again. Symlinks are never followed. A tree over the limits, or with a path longer than PATH_MAX (4096
 * bytes), which cannot be reached, is `TreeTooLarge`.
 */
export class Scanner {
  readonly #options: ScannerOptions;
  readonly #reported: ReportedStats;
  #tops: readonly TreeNode[] = [];
  /** The cache of an earlier process has been asked. */
  #warm = false;
  #known = 0;
  /** The cache holds the whole tree of the last scan. */
  #complete = false;

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#reported = new ReportedStats(options);
    this.forget();
  }

  save(): void {
    if (this.#warm) this.#options.cache.write(this.#tops);
  }

  forget(): void {
    this.#complete = false;
    this.#reported.forget();
    this.#known = 0;
    this.#tops = this.#options.roots.map(({ name, path }) => makeNode(name, path, name));
  }

  /** Scans all roots; with `keep`, every content that the store lacks is put into it. */
  async scan(keep: boolean, slices: Slices): Promise<Manifest> {
    const tree = await this.look(keep, slices);
    return { digest: digestOf(tree.entries), ...tree };
  }

  /** Like {@link scan}, without the digest. */
  async look(keep: boolean, slices: Slices): Promise<Tree> {
    const racyFromMs = this.#options.now() - RACY_MS;
    if (!this.#warm) this.#known = this.#options.cache.read(this.#tops);
    this.#warm = true;
    const since = this.#complete ? (this.#options.changes?.since() ?? null) : null;
    this.#complete = false;
    const found: TreeNode[] = [];
    const skipped: SkippedPath[] = [];
    const budget = new TreeBudget(this.#options.limits);
    const { guard, xattrs: access } = this.#options;
    const asking = this.#tops.map((top) => (access === undefined ? null : new XattrScan(access, guard, top)));
    try {
      if (since !== null) this.#reported.forget();
      const seen = since === null ? await this.#reported.ask(this.#known) : [];
      for (const [at, top] of this.#tops.entries()) {
        const [xattrs, device] = [asking[at] ?? null, fs.lstatSync(sysPath(top.abs)).dev];
        const reader = new NodeReader({ ...this.#options, keep, racyFromMs, budget, xattrs, device });
        const below = since === null ? null : (since.get(top.name) ?? NOTHING);
        const walk = this.#walk({ top, below, device, seen: seen[at] ?? null }, reader, slices, found, skipped);
        await walk.finally(() => reader.close());
      }
      for (const xattrs of asking) await xattrs?.finish();
    } catch (error) {
      for (const xattrs of asking) xattrs?.abandon();
      if (errnoOf(error) === 'ENAMETOOLONG') throw new TreeTooLarge(`a path is longer than the system allows: ${String(error)}`, error);
      if (!UNREADABLE.has(errnoOf(error))) throw error;
      throw new SnapshotError('AF_SNAPSHOT_UNREADABLE', `the tree cannot be read: ${String(error)}`, { cause: error });
    }
    if (found.some((node, at) => at > 0 && node.path < (found[at - 1]?.path ?? ''))) found.sort((a, b) => byBytes(a.path, b.path));
    this.#complete = true;
    this.#reported.completed();
    this.#options.changes?.seen();
    this.#known = found.length;
    groupHardLinks(found);
    skipped.push(...notesOf(found));
    const entries = found.map((node) => node.entry).filter((entry): entry is ManifestEntry => entry !== null);
    return { entries, skipped };
  }

  /** Depth first with an explicit stack: no recursion limit, and it can pause anywhere. */
  async #walk(
    { top, below, device, seen }: Start,
    reader: NodeReader,
    slices: Slices,
    found: TreeNode[],
    skipped: SkippedPath[],
  ): Promise<void> {
    const stack: Frame[] = [];
    let steps = 0;
    try {
      await this.#visit(top, null, reader, slices);
      if (!this.#enter(top, reader, stack, below, false))
        throw new SnapshotError('AF_SNAPSHOT_UNREADABLE', `the root ${top.path} is closed to us`);
      for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
        const node = frame.node.children[frame.next++];
        if (node === undefined) {
          stack.pop();
          this.#leave(frame);
          continue;
        }
        // Reading the clock costs as much as passing an unchanged name; reading eight small files takes less than a
        // slice.
        if (++steps % 8 === 0 && slices.due()) await slices.pause();
        const changed = changesAt(node, frame.below, reader);
        const reported = changed === NOTHING ? null : reportedOf(node, seen, stack.length, frame.blind);
        const blind = reported === null || (reported !== 'same' && reported.isBlind);
        const reading = changed === NOTHING ? undefined : this.#visit(node, reported, reader, slices);
        if (reading !== undefined) await reading;
        onDevice(node, device);
        reader.count(node);
        if (node.entry?.type === 'd') this.#enter(node, reader, stack, changed, blind);
        if (node.entry !== null) found.push(node);
        else if (node.skipped !== null) skipped.push({ path: displayPath(node.path), kind: node.skipped });
      }
    } finally {
      // Not empty only after a failure: the cached content of these directories is then invalid.
      for (const frame of stack.reverse()) {
        this.#leave(frame);
        frame.node.racy = true;
      }
    }
  }

  /** Brings one node up to date; waits only while a big file is read. */
  #visit(node: TreeNode, reported: Reported, reader: NodeReader, slices: Slices): Promise<void> | undefined {
    if (!node.racy && (reported === 'same' || isSame(node, reported ?? fs.lstatSync(sysPath(node.abs)))) && reader.isSettled(node)) {
      node.reported = reported !== null;
      return undefined;
    }
    const stat = reported === 'same' ? statOf(node) : reported;
    const unread = reader.refresh(node);
    node.reported = stat !== null && isSame(node, stat);
    return unread ? reader.readFile(node, slices) : undefined;
  }

  /** Pushes a directory on the stack; false when we may not read it, and then it is skipped. */
  #enter(node: TreeNode, reader: NodeReader, stack: Frame[], below: Below | null, blind: boolean): boolean {
    if (below === NOTHING && node.listed) {
      stack.push({ node, next: 0, widened: false, below, blind });
      return true;
    }
    const mode = node.mode & 0o7777;
    const closed = (mode & LISTABLE) !== LISTABLE;
    if (closed && !this.#options.guard.widen(node.abs, mode, LISTABLE)) {
      reader.skip(node, 'unreadable');
      return false;
    }
    if (closed) reader.passed(node);
    const frame = { node, next: 0, widened: closed, below, blind };
    try {
      if (!node.listed || below !== null) reader.list(node);
      stack.push(frame);
      return true;
    } catch (error) {
      this.#leave(frame);
      if (errnoOf(error) !== 'EACCES') throw error;
      reader.skip(node, 'unreadable');
      return false;
    }
  }

  #leave({ node, widened }: Frame): void {
    if (!widened) return;
    this.#options.guard.shut(node.abs, node.mode & 0o7777);
    node.racy = true;
  }
}

/** Returns what can have changed at a node and below; unknown entries, and those to be stored, are always checked. */
function changesAt(node: TreeNode, below: Below | null, reader: NodeReader): Below | null {
  if (below === null || node.entry === null) return null;
  const named = below.get(node.name);
  if (named !== undefined) return named;
  return reader.isSettled(node) ? NOTHING : null;
}

function reportedOf(node: TreeNode, seen: StatCursor | null, depth: number, blind: boolean): Reported {
  if (seen === null) return null;
  return seen.find(node.name, depth) ?? (seen.changesOnly && node.reported && !blind ? 'same' : null);
}

/** A tree that was mounted again has another device number, and the files in it the same inodes. */
function onDevice(node: TreeNode, device: number): void {
  if (node.linkKey !== '' && !node.linkKey.startsWith(`${device}:`))
    node.linkKey = `${device}${node.linkKey.slice(node.linkKey.indexOf(':'))}`;
}

/** Lists entries captured without all attributes: each path or, where they are many, its root. */
function notesOf(found: readonly TreeNode[]): SkippedPath[] {
  const lost = found.filter((node) => node.lost !== null && node.entry !== null);
  const shown = lost.length <= MAX_NOTED ? (path: string) => path : (path: string) => path.slice(0, path.indexOf('/'));
  const notes = lost.map(({ path, lost: kind }) => ({ path: displayPath(shown(path)), kind: kind ?? 'acl' }));
  return [...new Map(notes.map((note) => [`${note.kind} ${note.path}`, note])).values()];
}
