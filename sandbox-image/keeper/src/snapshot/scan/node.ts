import type { SkippedPath } from '@agentfleet/protocol/keeper';
import type { BigIntStats } from 'node:fs';
import type { ManifestEntry } from '../base/manifest.ts';
import type { BytePath } from '../base/pathBytes.ts';
import type { SeenStat } from './statCursor.ts';

/**
 * The result of the last scan at one path: the stat cache, shaped as the tree. An unchanged directory keeps its
 * children, so that it is not even listed again.
 */
export interface TreeNode extends SeenStat {
  readonly name: BytePath;
  readonly abs: BytePath;
  readonly path: BytePath;
  mtimeNs: bigint;
  /** True when the next scan must not trust this node. */
  racy: boolean;
  /** The stat is from the program's last answer, which omits it until it changes. */
  reported: boolean;
  /** `device:inode`, exact, while the file has more than one name; else `''`. */
  linkKey: string;
  /** Null until the first visit and for skipped paths. */
  entry: ManifestEntry | null;
  skipped: SkippedPath['kind'] | null;
  /** Attributes at a captured path that are not captured. */
  lost: 'acl' | 'capability' | null;
  children: TreeNode[];
  /** False when `children` must be listed again; the old ones still lend their memory by name. */
  listed: boolean;
}

export function makeNode(name: BytePath, abs: BytePath, path: BytePath): TreeNode {
  return {
    name,
    abs,
    path,
    ino: -1,
    ctimeMs: 0,
    mtimeMs: 0,
    mtimeNs: 0n,
    size: 0,
    mode: 0,
    nlink: 0,
    racy: true,
    reported: false,
    linkKey: '',
    entry: null,
    skipped: null,
    lost: null,
    children: [],
    listed: false,
  };
}

/** True when nothing can have changed since the node was filled, unless it is racy. */
export function isSame(node: SeenStat, stat: SeenStat): boolean {
  return (
    node.ino === stat.ino &&
    node.ctimeMs === stat.ctimeMs &&
    node.mtimeMs === stat.mtimeMs &&
    node.size === stat.size &&
    node.mode === stat.mode &&
    node.nlink === stat.nlink
  );
}

/** The stat that a node was filled with. */
export function statOf({ ino, ctimeMs, mtimeMs, size, mode, nlink }: TreeNode): SeenStat {
  return { ino, ctimeMs, mtimeMs, size, mode, nlink };
}

/** Returns the same double as `fs.lstat` without bigints, to compare with it later. */
function milliseconds(ns: bigint): number {
  return Number(ns / 1_000_000_000n) * 1000 + Number(ns % 1_000_000_000n) / 1e6;
}

/** Stores an exact stat in the node and drops the cached content; the node stays `racy` until its reader settles it. */
export function fillNode(node: TreeNode, stat: BigIntStats): void {
  node.ino = Number(stat.ino);
  node.ctimeMs = milliseconds(stat.ctimeNs);
  node.mtimeMs = milliseconds(stat.mtimeNs);
  node.mtimeNs = stat.mtimeNs;
  node.size = Number(stat.size);
  node.mode = Number(stat.mode);
  node.nlink = Number(stat.nlink);
  node.racy = true;
  node.linkKey = stat.nlink > 1n && stat.isFile() ? `${stat.dev}:${stat.ino}` : '';
  node.entry = null;
  node.skipped = null;
  node.lost = null;
  node.listed = false;
}

/** Restores the cached state of an earlier process. */
export function reviveNode(
  node: TreeNode,
  known: Pick<TreeNode, 'ino' | 'ctimeMs' | 'size' | 'mode' | 'nlink' | 'linkKey' | 'lost' | 'racy' | 'listed'>,
  entry: ManifestEntry,
): void {
  Object.assign(node, known);
  node.mtimeNs = entry.mtimeNs;
  node.mtimeMs = milliseconds(entry.mtimeNs);
  node.entry = entry;
}
