import fs from 'node:fs';
import { type RootBytes, parseLine } from '../base/manifest.ts';
import { StatCursor } from './statCursor.ts';
import { createHash, randomUUID } from 'node:crypto';
import { errnoOf, isFull } from '../base/errors.ts';
import { readStored } from '../objects/stored.ts';
import { type BytePath, parentOf, sysPath } from '../base/pathBytes.ts';
import { type TreeNode, makeNode, reviveNode } from './node.ts';
import type { TreeStats } from '../base/xattrs.ts';
import type { TreeLimits } from './treeLimits.ts';

/** First line; a file that begins otherwise is no cache. */
const FORMAT = 'agentfleet-stat-cache/3';
const BATCH = 1024;

/**
 * The scanner's cache, stored next to the snapshots, so that the first scan after a restart of the keeper does not read
 * every file again. Only a hint: each node is compared with the stat of its file as within one process, and files
 * changed so shortly before reading that a second change could hide (`racy`) are marked as invalid. The last line is
 * the hash of the others: a torn or damaged file is ignored. So is one of an earlier boot: after a loss of power a file
 * can lack contents although its stat is unchanged.
 */
export class StatCache {
  readonly #path: string;
  readonly #boot: string;

  /** `boot`: which boot of the machine this is. */
  constructor(path: string, boot = bootId()) {
    this.#path = path;
    this.#boot = boot;
  }

  /** Not synced: if it is lost, the files are read again. Errors of a full or missing volume are ignored. */
  write(tops: readonly TreeNode[]): void {
    const temporary = `${this.#path}.tmp`;
    try {
      const fd = fs.openSync(temporary, 'w', 0o600);
      try {
        writeLines(fd, tops, this.#boot);
      } finally {
        fs.closeSync(fd);
      }
      fs.renameSync(temporary, this.#path);
    } catch (error) {
      if (!isFull(error) && errnoOf(error) !== 'ENOENT') throw error;
      for (const path of [temporary, this.#path]) fs.rmSync(path, { force: true });
    }
  }

  /** Loads the cache into these nodes, the roots, and returns the number of nodes; 0 when there is no usable cache. */
  read(tops: readonly TreeNode[]): number {
    const text = readStored(this.#path, 'latin1') ?? '';
    const cut = text.lastIndexOf('\n', text.length - 2) + 1;
    if (text.slice(cut, -1) !== createHash('sha256').update(text.slice(0, cut), 'latin1').digest('hex')) return 0;
    const [format, boot, devices, ...lines] = text.slice(0, cut - 1).split('\n');
    // Inode numbers are only meaningful on their own device.
    if (format !== FORMAT || boot !== this.#boot || devices !== devicesOf(tops)) return 0;
    const directories = new Map<BytePath, TreeNode>(tops.map((top) => [top.path, top]));
    for (const line of lines) readNode(line, directories);
    return lines.length;
  }
}

function devicesOf(tops: readonly TreeNode[]): string {
  const known = tops.map(({ abs, path }) => ({ path, stat: fs.lstatSync(sysPath(abs), { throwIfNoEntry: false }) }));
  return known.map(({ path, stat }) => `${path}=${stat?.dev ?? '-'}`).join(' ');
}

/** Without a kernel boot id each process counts as its own boot. */
function bootId(): string {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return randomUUID();
  }
}

function writeLines(fd: number, tops: readonly TreeNode[], boot: string): void {
  const sha = createHash('sha256');
  const lines = [FORMAT, boot, devicesOf(tops)];
  const flush = (): void => {
    const bytes = Buffer.from(`${lines.join('\n')}\n`, 'latin1');
    sha.update(bytes);
    fs.writeFileSync(fd, bytes);
    lines.length = 0;
  };
  const stack = [...tops];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.entry === null) continue;
    lines.push(lineOf(node));
    if (lines.length >= BATCH) flush();
    stack.push(...node.children.toReversed());
  }
  flush();
  fs.writeFileSync(fd, `${sha.digest('hex')}\n`);
}

/** `racy listed ino ctimeMs size mode nlink linkKey lost`, then the manifest line. */
function lineOf(node: TreeNode): string {
  const { racy, ino, ctimeMs, size, mode, nlink, linkKey, lost, children, entry } = node;
  // Skipped entries are not written: their directory must be listed again.
  const listed = node.listed && children.every((child) => child.entry !== null);
  const key = linkKey === '' ? '-' : linkKey;
  return `${Number(racy)} ${Number(listed)} ${ino} ${ctimeMs} ${size} ${mode} ${nlink} ${key} ${lost ?? '-'} ${entry?.line ?? ''}`;
}

function readNode(text: string, directories: Map<BytePath, TreeNode>): void {
  const [racy, listed, ino, ctimeMs, size, mode, nlink, linkKey = '-', note, ...rest] = text.split(' ');
  // Through bytes: a part of the text would keep all of it in memory.
  const entry = parseLine(Buffer.from(rest.join(' '), 'latin1').toString('latin1'));
  const parent = directories.get(parentOf(entry.path));
  const name = entry.path.slice(entry.path.lastIndexOf('/') + 1);
  const node = directories.get(entry.path) ?? makeNode(name, `${parent?.abs ?? ''}/${name}`, entry.path);
  const stat = { ino: Number(ino), ctimeMs: Number(ctimeMs), size: Number(size), mode: Number(mode), nlink: Number(nlink) };
  const lost = note === 'acl' || note === 'capability' ? note : null;
  reviveNode(node, { ...stat, linkKey: linkKey === '-' ? '' : linkKey, lost, racy: racy !== '0', listed: listed === '1' }, entry);
  parent?.children.push(node);
  if (entry.type === 'd') directories.set(entry.path, node);
}

export interface ReportedStatsOptions {
  readonly roots: readonly RootBytes[];
  readonly limits: TreeLimits;
  /** Absent: each name is asked for by itself. */
  readonly treeStats?: TreeStats | undefined;
}

/**
 * Requests the stats of all names of all roots, where a program pays off. From one completed scan to the next only
 * changes are reported: each node records whether it is as reported (`TreeNode.reported`).
 */
export class ReportedStats {
  readonly #options: ReportedStatsOptions;
  /** The answers that the nodes have been compared with, one for each root. */
  #last: readonly (string | null)[] = [];
  #next: readonly (string | null)[] = [];

  constructor(options: ReportedStatsOptions) {
    this.#options = options;
  }

  /** Requests stats for a tree with `known` names. Until {@link completed} no earlier report counts. */
  async ask(known: number): Promise<readonly (StatCursor | null)[]> {
    const { roots, treeStats, limits } = this.#options;
    const since = this.#last;
    this.forget();
    if (treeStats === undefined || known < treeStats.worthFrom) return [];
    const max = Math.min(limits.entries, Number.MAX_SAFE_INTEGER);
    const all = await Promise.all(roots.map(({ textPath }, at) => treeStats.read(textPath, max, since[at] ?? null)));
    this.#next = all.map((answer) => answer?.token ?? null);
    return all.map((answer) => (answer === null ? null : new StatCursor(answer.records, answer.changesOnly)));
  }

  /** All names have been compared with the last answers. */
  completed(): void {
    this.#last = this.#next;
  }

  forget(): void {
    this.#last = [];
    this.#next = [];
  }
}
