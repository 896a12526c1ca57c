import { createHash } from 'node:crypto';
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { execa } from 'execa';
import { KeeperRefusal, type ExecResult, type KeeperClient } from '@agentfleet/keeper/client';
import {
  homeDir,
  workspaceDir,
  type AuditRecord,
  type DiffEntry,
  type ExecRequest,
  type FileLines,
  type FileList,
  type KeeperInfo,
  type Note,
} from '@agentfleet/protocol/keeper';

interface Kept {
  readonly id: string;
  readonly label: string | null;
  readonly manifest: ReadonlyMap<string, string>;
}

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * The functions of a keeper, in a temporary folder of this machine and without isolation: real commands, files,
 * snapshots and an event log, so that the loop can be tested in milliseconds. It proves nothing about isolation;
 * test/sandbox does.
 */
export class LocalSandbox implements AsyncDisposable {
  readonly folder: string;
  /** Notes of the event log, oldest first. */
  readonly notes: { readonly kind: string; readonly data: Readonly<Record<string, unknown>> }[] = [];
  /** Called after each note. */
  onNote: (() => void) | undefined;
  readonly #kept: Kept[] = [];
  #instance = 1;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<LocalSandbox> {
    const folder = await mkdtemp(join(tmpdir(), 'loop-'));
    for (const name of ['workspace', 'home', 'snapshots']) await mkdir(join(folder, name));
    return new LocalSandbox(folder);
  }

  /** It has the methods of a keeper's client that the engine calls, and no others. */
  get client(): KeeperClient {
    return this as unknown as KeeperClient;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  info(): Promise<Partial<KeeperInfo>> {
    const tools = { connected: true, instance: `i${this.#instance}`, connections: 1 };
    const roots = [{ name: 'workspace', path: workspaceDir }];
    const snapshots = { engine: 'CAS', count: this.#kept.length, latest: this.#kept.at(-1)?.id ?? null } as const;
    return Promise.resolve({ ready: true, reason: null, running: null, tools, roots, snapshots });
  }

  async run(body: ExecRequest): Promise<ExecResult> {
    const began = performance.now();
    const argv = body.tool === 'Shell' ? ['/bin/sh', '-c', body.command] : body.argv;
    const [command = '', ...args] = argv.map((one) => this.#inside(one));
    const own = Object.fromEntries(Object.entries(body.env ?? {}).map(([name, value]): [string, string] => [name, this.#inside(value)]));
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: join(this.folder, 'home'),
      PYTHONDONTWRITEBYTECODE: '1',
      ...own,
    };
    const cwd = this.#inside(body.cwd ?? workspaceDir);
    const options = {
      cwd,
      env,
      extendEnv: false,
      reject: false,
      stripFinalNewline: false,
      timeout: (body.timeoutSeconds ?? 60) * 1000,
    } as const;
    const { exitCode, stdout, stderr, timedOut, signal, code, message } = await execa(command, args, options);
    const error =
      exitCode === undefined && !timedOut && signal === undefined ? { code: String(code), message: String(message) } : undefined;
    const nothing = { stdout: 0, stderr: 0 };
    const end = {
      type: 'end' as const,
      seq: 1,
      exitCode: exitCode ?? null,
      signal: signal ?? null,
      timedOut,
      killed: null,
      oom: false,
      durationMs: Math.round(performance.now() - began),
      cpuMs: 1,
      maxRssBytes: 0,
      bytes: nothing,
      dropped: nothing,
      swept: 0,
      ...(error !== undefined && { error }),
    };
    return { stdout: this.#outside(stdout), stderr: this.#outside(stderr), end };
  }

  cancel(): Promise<void> {
    return Promise.resolve();
  }

  async readFile(path: string): Promise<Buffer> {
    try {
      return await readFile(this.#inside(path));
    } catch {
      throw new KeeperRefusal(404, 'AF_FILE_NOT_FOUND', `${path} is not there`, 'none');
    }
  }

  /** The whole of a small file: nothing here asks for a part. */
  async readLines(path: string): Promise<FileLines> {
    const text = String(await this.readFile(path));
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    return { path, from: 1, to: lines, lines, sha256: sha256(text), text, truncated: false };
  }

  /** Only whether the folder is there: nothing here asks for its entries. */
  async listFiles(path: string): Promise<Pick<FileList, 'path' | 'entries'>> {
    const there = await stat(this.#inside(path)).catch(() => undefined);
    if (there?.isDirectory() !== true) throw new KeeperRefusal(404, 'AF_FILE_NOT_FOUND', `${path} is not there`, 'none');
    return { path, entries: [] };
  }

  async writeFile(path: string, content: string | Uint8Array): Promise<void> {
    await mkdir(dirname(this.#inside(path)), { recursive: true });
    await writeFile(this.#inside(path), content);
  }

  note(kind: string, data: Readonly<Record<string, unknown>>): Promise<void> {
    this.notes.push(structuredClone({ kind, data }));
    this.onNote?.();
    return Promise.resolve();
  }

  async noteAll(notes: readonly Note[]): Promise<void> {
    for (const { kind, data } of notes) await this.note(kind, data);
  }

  async takeSnapshot(label?: string) {
    const id = `s${String(this.#kept.length).padStart(4, '0')}`;
    await cp(join(this.folder, 'workspace'), join(this.folder, 'snapshots', id), { recursive: true, verbatimSymlinks: true });
    this.#kept.push({ id, label: label ?? null, manifest: await manifestOf(join(this.folder, 'workspace')) });
    return this.#record(this.#find(id));
  }

  snapshots() {
    return Promise.resolve(this.#kept.map((kept) => this.#record(kept)));
  }

  async restore(id: string) {
    const workspace = join(this.folder, 'workspace');
    await rm(workspace, { recursive: true, force: true });
    await cp(join(this.folder, 'snapshots', id), workspace, { recursive: true, verbatimSymlinks: true });
    const { manifestDigest } = this.#record(this.#find(id));
    const now = digestOf(await manifestOf(workspace));
    return { id, verified: now === manifestDigest, manifestDigest: now, expectedDigest: manifestDigest, mismatches: [] };
  }

  async diff(from: string, to?: string) {
    const before = this.#find(from).manifest;
    const after = to === undefined ? await manifestOf(join(this.folder, 'workspace')) : this.#find(to).manifest;
    const entries: DiffEntry[] = [];
    for (const path of [...new Set([...before.keys(), ...after.keys()])].sort()) {
      const [old, now] = [before.get(path), after.get(path)];
      if (old !== now) entries.push({ path: `workspace/${path}`, op: old === undefined ? 'A' : now === undefined ? 'D' : 'M' });
    }
    return { from, to: to ?? 'current', entries, unified: entries.map(({ op, path }) => `${op} ${path}\n`).join('') };
  }

  revertBundle(): Promise<Readable> {
    return Promise.resolve(Readable.from([Buffer.from('none')]));
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a keeper's stream is asynchronous
  async *events(from = 1): AsyncGenerator<AuditRecord> {
    for (const [at, body] of this.notes.slice(from - 1).entries()) {
      yield { seq: from + at, at: '2030-01-01T00:00:00.000Z', type: 'Noted', epoch: 1, body, prev: '', hash: '' };
    }
  }

  audit() {
    return Promise.resolve({ ok: true, records: this.notes.length, root: sha256(JSON.stringify(this.notes)), broken: null });
  }

  restartTools(): Promise<void> {
    this.#instance += 1;
    return Promise.resolve();
  }

  #find(id: string): Kept {
    const kept = this.#kept.find((one) => one.id === id);
    if (kept === undefined) throw new KeeperRefusal(404, 'AF_SNAPSHOT_UNKNOWN', `no snapshot ${id}`, 'none');
    return kept;
  }

  #record({ id, label, manifest }: Kept) {
    const rest = { parent: null, takenAt: '2030-01-01T00:00:00Z', files: manifest.size, skipped: [] };
    return { id, label, manifestDigest: digestOf(manifest), ...rest };
  }

  #inside(text: string): string {
    return text.replaceAll(workspaceDir, join(this.folder, 'workspace')).replaceAll(homeDir, join(this.folder, 'home'));
  }

  #outside(text: string): string {
    return text.replaceAll(join(this.folder, 'workspace'), workspaceDir).replaceAll(join(this.folder, 'home'), homeDir);
  }
}

/** Digest of the content of each file, by path. */
async function manifestOf(root: string): Promise<ReadonlyMap<string, string>> {
  const manifest = new Map<string, string>();
  const names = await readdir(root, { recursive: true });
  for (const name of names.sort()) {
    const stat = await lstat(join(root, name));
    if (stat.isFile()) manifest.set(name, sha256(await readFile(join(root, name))));
  }
  return manifest;
}

function digestOf(manifest: ReadonlyMap<string, string>): string {
  return `sha256:${sha256(JSON.stringify([...manifest]))}`;
}
