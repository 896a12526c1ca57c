import { SnapshotError } from '../base/errors.ts';
import { makeEntry } from '../base/manifest.ts';
import { type BytePath, displayPath } from '../base/pathBytes.ts';
import { TooManyXattrs, type XattrAccess, type XattrAnswer } from '../base/xattrs.ts';
import { LISTABLE, type ModeGuard, OWNER_READ } from './modeGuard.ts';
import type { TreeNode } from './node.ts';
import { TreeTooLarge } from './treeLimits.ts';

/** Limit for one root, in base64. All manifests in memory hold them in full. */
const MAX_XATTR_BYTES = 11 * 1024 * 1024;

/**
 * Extended attributes of the nodes of one root that a scan has read again: setting one moves the ctime, so those
 * of the others are known. The program that reads them starts with the first question and works beside the walk.
 */
export class XattrScan {
  readonly #access: XattrAccess;
  readonly #guard: ModeGuard;
  readonly #top: TreeNode;
  readonly #rootPath: string;
  #reader: ReturnType<XattrAccess['read']> | null = null;
  #asked: TreeNode[] = [];
  readonly #closedFolders: TreeNode[] = [];

  constructor(access: XattrAccess, guard: ModeGuard, top: TreeNode) {
    this.#access = access;
    this.#guard = guard;
    this.#top = top;
    this.#rootPath = Buffer.from(top.abs, 'latin1').toString('utf8');
  }

  ask(node: TreeNode): void {
    if (node === this.#top) return;
    this.#reader ??= this.#access.read(this.#rootPath, MAX_XATTR_BYTES);
    this.#reader.ask(this.#relative(node));
    this.#asked.push(node);
  }

  /** A folder that is closed to us has been opened for the walk, and shut. The upper ones first. */
  passed(folder: TreeNode): void {
    this.#closedFolders.push(folder);
  }

  /** Waits for the answers and writes them into the nodes. After a failure call {@link abandon}. */
  async finish(): Promise<void> {
    if (this.#reader === null) return;
    const answers = new Map<BytePath, XattrAnswer>();
    try {
      for (const answer of await this.#reader.answers()) answers.set(answer.path, answer);
      const closed = this.#asked.filter((node) => answers.get(this.#relative(node))?.note === 'closed');
      if (closed.length > 0) for (const answer of await this.#askOpened(closed)) answers.set(answer.path, answer);
    } catch (error) {
      if (error instanceof TooManyXattrs) throw new TreeTooLarge(error.message, error);
      const message = `the extended attributes of ${this.#rootPath} cannot be read: ${String(error)}`;
      throw new SnapshotError('AF_SNAPSHOT_UNREADABLE', message, { cause: error });
    }
    for (const node of this.#asked) {
      const answer = answers.get(this.#relative(node));
      if (answer?.note === 'many') throw new TreeTooLarge(`${displayPath(node.path)} has more extended attributes than the system lists`);
      if (answer !== undefined) note(node, answer);
    }
    this.#asked = [];
    this.#reader = null;
  }

  abandon(): void {
    this.#reader?.cancel();
    for (const node of this.#asked) node.racy = true;
  }

  #relative(node: TreeNode): BytePath {
    return node.path.slice(this.#top.path.length + 1);
  }

  /** Requests again with widened modes. Opened entries stay racy: the scan ensures that. */
  async #askOpened(nodes: readonly TreeNode[]): Promise<readonly XattrAnswer[]> {
    const opened: TreeNode[] = [];
    const open = (node: TreeNode, bits: number): void => {
      const mode = node.mode & 0o7777;
      if ((mode & bits) !== bits && this.#guard.widen(node.abs, mode, bits)) opened.push(node);
    };
    const reader = this.#access.read(this.#rootPath, MAX_XATTR_BYTES);
    try {
      for (const folder of this.#closedFolders) open(folder, LISTABLE);
      for (const node of nodes) {
        if (node.entry?.type === 'f') open(node, OWNER_READ);
        reader.ask(this.#relative(node));
      }
      return await reader.answers();
    } catch (error) {
      reader.cancel();
      throw error;
    } finally {
      for (const node of opened.reverse()) this.#guard.shut(node.abs, node.mode & 0o7777);
    }
  }
}

function note(node: TreeNode, { note, text }: XattrAnswer): void {
  if (note === 'acl' || note === 'capability') node.lost = note;
  if (node.entry !== null && text !== node.entry.xattrs) node.entry = makeEntry({ ...node.entry, xattrs: text });
}
