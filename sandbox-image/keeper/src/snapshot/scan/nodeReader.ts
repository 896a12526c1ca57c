import fs from 'node:fs';
import type { SkippedPath } from '@agentfleet/protocol/keeper';
import { type ModeGuard, OWNER_READ, openFile } from './modeGuard.ts';
import { FolderOpener, namesAt } from '../base/atPath.ts';
import { errnoOf } from '../base/errors.ts';
import { type BytePath, sysPath } from '../base/pathBytes.ts';
import { type ManifestEntry, makeEntry } from '../base/manifest.ts';
import type { Content, ObjectStore } from '../objects/objectStore.ts';
import type { Slices } from '../base/slices.ts';
import { type TreeNode, fillNode, makeNode } from './node.ts';
import type { TreeBudget } from './treeLimits.ts';
import type { XattrScan } from './xattrScan.ts';

interface NodeReaderOptions {
  readonly store: ObjectStore;
  readonly guard: ModeGuard;
  /** Put contents into the store, not only hash them. */
  readonly keep: boolean;
  /** A change at or after this time (ms) may be followed by one that the stat does not show. */
  readonly racyFromMs: number;
  readonly budget: TreeBudget;
  readonly xattrs: XattrScan | null;
  /** Device of the root; an entry on another one is a mount and is skipped. */
  readonly device: number;
}

/** Brings single nodes up to date during one scan of one root. */
export class NodeReader {
  readonly #options: NodeReaderOptions;
  readonly #opener = new FolderOpener();

  constructor(options: NodeReaderOptions) {
    this.#options = options;
  }

  close(): void {
    this.#opener.close();
  }

  /** True when an unchanged node needs no reading: its content is already stored as this scan needs it. */
  isSettled({ entry }: TreeNode): boolean {
    return !this.#options.keep || entry?.type !== 'f' || this.#options.store.has(entry.hash);
  }

  /** Counts a visited path and its content. @throws TreeTooLarge */
  count({ path, entry, skipped, size, nlink }: TreeNode): void {
    this.#options.budget.spend(path);
    if (skipped !== null) this.#options.budget.spendSkipped(path);
    if (entry?.type === 'f') this.#options.budget.spendBytes(size, nlink);
  }

  /** Reads all but the content of a file; returns true when the content is still to be read. */
  refresh(node: TreeNode): boolean {
    const before = node.entry;
    let stat: fs.BigIntStats;
    try {
      stat = fs.lstatSync(sysPath(node.abs), { bigint: true });
    } catch (error) {
      if (errnoOf(error) !== 'EACCES') throw error;
      this.skip(node, 'unreadable');
      return false;
    }
    fillNode(node, stat);
    if (stat.isFile() && Number(stat.dev) === this.#options.device) {
      // Kept for its memory only: `racy` holds until the content has been read.
      node.entry = before;
      return true;
    }
    this.#refreshOther(node, stat, before);
    return false;
  }

  #refreshOther(node: TreeNode, stat: fs.BigIntStats, before: ManifestEntry | null): void {
    if (!stat.isDirectory()) node.children = [];
    if (Number(stat.dev) !== this.#options.device) this.skip(node, 'mount');
    else if (stat.isDirectory()) this.#settle(node, { type: 'd', mode: node.mode & 0o7777, link: '' }, null, before);
    else if (stat.isSymbolicLink()) {
      const link = fs.readlinkSync(sysPath(node.abs), { encoding: 'latin1' });
      this.#settle(node, { type: 'l', mode: 0o777, link }, null, before);
    } else if (stat.isFIFO()) this.skip(node, 'fifo');
    else this.skip(node, stat.isSocket() ? 'socket' : 'device');
  }

  /** Hashes, and with `keep` stores, the content of a file whose stat was just refreshed. */
  readFile(node: TreeNode, slices: Slices): Promise<void> | undefined {
    this.#options.budget.assertReadable(node.size);
    const fd = openFile(node.abs, node.mode & 0o7777, this.#options.guard, (abs, flags) => this.#opener.open(abs, flags));
    if (fd === null) return this.skip(node, 'unreadable');
    const content = this.#readSmall(fd, node);
    if (content === null) return this.#readLarge(fd, node, slices);
    fs.closeSync(fd);
    return this.#settleFile(node, content);
  }

  /** Names of a directory, sorted, each with the node that was known for it or a new one. */
  list(node: TreeNode): void {
    const known = new Map(node.children.map((child) => [child.name, child]));
    const names = namesAt(node.abs);
    this.#options.budget.ahead(names.length);
    const make = (name: BytePath) => makeNode(name, `${node.abs}/${name}`, `${node.path}/${name}`);
    node.children = names.map((name) => known.get(name) ?? make(name));
    node.listed = true;
  }

  passed(node: TreeNode): void {
    this.#options.xattrs?.passed(node);
  }

  /** Leaves a path out of the manifest and records why. */
  skip(node: TreeNode, kind: SkippedPath['kind']): undefined {
    node.entry = null;
    node.skipped = kind;
    node.children = [];
    node.racy = true;
    return undefined;
  }

  /** Null when the file is too big for one piece; the file is closed only when this throws. */
  #readSmall(fd: number, node: TreeNode): Content | null {
    const { store, keep } = this.#options;
    try {
      return store.isSmall(node.size) ? store.small(fd, node.size, keep) : null;
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  async #readLarge(fd: number, node: TreeNode, slices: Slices): Promise<void> {
    try {
      this.#settleFile(node, await this.#options.store.large(fd, this.#options.keep, slices));
    } finally {
      fs.closeSync(fd);
    }
  }

  #settleFile(node: TreeNode, content: Content): undefined {
    this.#settle(node, { type: 'f', mode: node.mode & 0o7777, link: '' }, content, node.entry);
    // Opening a closed file moved its ctime: the node's stat is not the file's any more.
    if ((node.mode & OWNER_READ) === 0) node.racy = true;
    return undefined;
  }

  #settle(
    node: TreeNode,
    fields: Pick<ManifestEntry, 'type' | 'mode' | 'link'>,
    content: Content | null,
    before: ManifestEntry | null,
  ): void {
    const entry = makeEntry({ ...fields, path: node.path, size: content?.size ?? 0, hash: content?.hash ?? '', mtimeNs: node.mtimeNs });
    node.entry = before !== null && before.line === entry.line ? before : entry;
    node.racy = node.ctimeMs >= this.#options.racyFromMs;
    if (fields.type !== 'l') this.#options.xattrs?.ask(node);
  }
}
