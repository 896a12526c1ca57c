import type { SetMeta } from '../base/xattrs.ts';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CasEngine, type CasOptions } from '../cas/casEngine.ts';
import { sysPath } from '../base/pathBytes.ts';
import { spawnSync } from 'node:child_process';

/** Exact times by GNU `touch`, so that the tests need no built runner. One process per record. */
export const setMetaByTouch: SetMeta = async (rootPath, records) => {
  const lines = records.map(({ path, mtimeNs }) => {
    const sign = mtimeNs < 0n ? '-' : '';
    const ns = mtimeNs < 0n ? -mtimeNs : mtimeNs;
    const when = `${sign}${ns / 1_000_000_000n}.${String(ns % 1_000_000_000n).padStart(9, '0')}`;
    return `touch -h -d @${when} -- ./${quoteForShell(path.toString('latin1'))}\n`;
  });
  const script = `set -e\ncd ${quoteForShell(Buffer.from(rootPath).toString('latin1'))}\n${lines.join('')}`;
  const { status, stderr } = spawnSync('/bin/sh', { input: Buffer.from(script, 'latin1'), encoding: 'utf8' });
  if (status !== 0) throw new Error(`touch ended with ${status ?? 'a signal'}: ${stderr}`);
};

function quoteForShell(bytes: string): string {
  return `'${bytes.replaceAll("'", `'\\''`)}'`;
}

/** A store and two roots in a temporary directory that `dispose` removes, whatever modes it holds. */
export class Harness {
  readonly dir = fs.mkdtempSync(join(tmpdir(), 'af-snapshot-'));
  readonly storeDir = join(this.dir, 'store');
  readonly workspace = join(this.dir, 'workspace');
  readonly home = join(this.dir, 'home');
  readonly #open: CasEngine[] = [];

  constructor() {
    for (const dir of [this.storeDir, this.workspace, this.home]) fs.mkdirSync(dir);
  }

  async engine(options: Partial<CasOptions> = {}): Promise<CasEngine> {
    const roots = [
      { name: 'workspace', path: this.workspace },
      { name: 'home', path: this.home },
    ];
    const engine = new CasEngine({ storeDir: this.storeDir, roots, setMeta: setMetaByTouch, clock: Date, ...options });
    this.#open.push(engine);
    return engine;
  }

  /** Both roots as lines, read by code that shares nothing with the engine's. */
  describe(): string[] {
    const inodes = new Map<string, string>();
    // A root may be closed too: through a link that leads to it.
    const describe = (root: string, name: string): string[] => opened(root, () => describeTree(root, name, inodes));
    return [...describe(this.workspace, 'workspace'), ...describe(this.home, 'home')];
  }

  async dispose(): Promise<void> {
    for (const engine of this.#open) await engine.close();
    openUp(this.dir);
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Describes everything that a snapshot promises to keep, one line per path. */
export function describeTree(abs: string, name: string, inodes: Map<string, string>): string[] {
  const out: string[] = [];
  const names = opened(abs, () => fs.readdirSync(sysPath(abs), { encoding: 'latin1' }).sort());
  for (const child of names) {
    const path = `${abs}/${child}`;
    const stat = fs.lstatSync(sysPath(path), { bigint: true });
    const label = `${name}/${child}`;
    const common = `${label} ${(Number(stat.mode) & 0o7777).toString(8)} ${stat.mtimeNs}`;
    const key = `${stat.dev}:${stat.ino}`;
    if (stat.isFile()) {
      const first = inodes.get(key) ?? label;
      inodes.set(key, first);
      out.push(
        `f ${common} ${createHash('sha256')
          .update(opened(path, () => fs.readFileSync(sysPath(path))))
          .digest('hex')} ${first}`,
      );
    } else if (stat.isSymbolicLink()) out.push(`l ${common} ${fs.readlinkSync(sysPath(path), { encoding: 'latin1' })}`);
    else if (stat.isDirectory()) out.push(`d ${common}`, ...opened(path, () => describeTree(path, label, inodes)));
    else out.push(`other ${label}`);
  }
  return out;
}

/** Runs `look` with the owner's permissions widened, for tests that do not run as root. */
function opened<T>(abs: string, look: () => T): T {
  const mode = fs.statSync(sysPath(abs)).mode & 0o7777;
  if ((mode & 0o500) === 0o500 || (mode & 0o400 && fs.statSync(sysPath(abs)).isFile())) return look();
  fs.chmodSync(sysPath(abs), mode | 0o500);
  try {
    return look();
  } finally {
    fs.chmodSync(sysPath(abs), mode);
  }
}

function openUp(dir: string): void {
  fs.chmodSync(sysPath(dir), 0o700);
  for (const name of fs.readdirSync(sysPath(dir), { encoding: 'latin1' })) {
    if (fs.lstatSync(sysPath(`${dir}/${name}`)).isDirectory()) openUp(`${dir}/${name}`);
  }
}
