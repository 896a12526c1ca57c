// sandbox-image/keeper, snapshot: benchmark of the CAS engine against git. May import the folders of snapshot, and protocol.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GitPlumbing } from './testing/gitPlumbing.ts';
import { CasEngine, type CasOptions } from './cas/casEngine.ts';

interface SnapshotBenchOptions {
  readonly files: number;
  readonly bytesPerFile: number;
  /** The programs beside the engine. */
  readonly programs: Pick<CasOptions, 'setMeta' | 'treeStats' | 'xattrs'>;
}

/** Milliseconds between an edit and the measured call: longer than the clock tick that makes a file look racy. */
const SETTLE_MS = 50;
/** The first snapshot is measured on fresh stores. */
const FIRST_ROUNDS = 3;
const ROUNDS = 7;

/**
 * Times the engine and git plumbing on the same tree in the same run. Both see every edit; the
 * engine syncs to disk before a snapshot counts, git is configured not to (`core.fsync=none`).
 */
export async function benchSnapshots(options: SnapshotBenchOptions) {
  const dir = fs.mkdtempSync(join(tmpdir(), 'af-snapshot-bench-'));
  try {
    const tree = join(dir, 'tree');
    makeTree(tree, options);
    await settle();
    const git = await measure(options, tree, () => gitSubject(dir, tree));
    const ours = await measure(options, tree, () => engineSubject(dir, tree, options.programs));
    return { ours, git };
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

/** Operations of both contestants; a snapshot's name is its id or its git tree. */
interface Subject {
  take(): Promise<string>;
  restore(name: string): Promise<void>;
  dispose(): Promise<void>;
}

/**
 * Medians in milliseconds; processor time (user and system, with that of the processes that are started) as means, as it is counted in
 * steps of 10 ms. Incremental: five files edited, one added, one removed. A restore reverts such an edit: our time includes the
 * verification of the whole tree; git does not verify.
 */
async function measure(options: SnapshotBenchOptions, tree: string, open: () => Promise<Subject>) {
  const [first, incremental, noop, restore] = [new Samples(), new Samples(), new Samples(), new Samples()];
  for (let round = 1; round < FIRST_ROUNDS; round++) {
    const once = await open();
    await first.add(() => once.take());
    await once.dispose();
  }
  const subject = await open();
  await first.add(() => subject.take());
  for (let round = 0; round < ROUNDS; round++) {
    const before = await subject.take();
    edit(tree, options, round);
    await settle();
    await incremental.add(() => subject.take());
    await settle();
    await noop.add(() => subject.take());
    await restore.add(() => subject.restore(before));
    await settle();
  }
  await subject.dispose();
  return {
    firstMs: first.medianMs,
    incrementalMs: incremental.medianMs,
    noopMs: noop.medianMs,
    restoreMs: restore.medianMs,
    incrementalCpuMs: incremental.meanCpuMs,
    restoreCpuMs: restore.meanCpuMs,
  };
}

async function engineSubject(dir: string, tree: string, programs: SnapshotBenchOptions['programs']): Promise<Subject> {
  const storeDir = fs.mkdtempSync(join(dir, 'store-'));
  const engine = new CasEngine({ storeDir, roots: [{ name: 'workspace', path: tree }], ...programs, clock: Date });
  return {
    take: async () => (await engine.take()).id,
    restore: async (id) => {
      await engine.restore(id);
    },
    dispose: async () => {
      await engine.close();
      fs.rmSync(storeDir, { recursive: true });
    },
  };
}

async function gitSubject(dir: string, tree: string): Promise<Subject> {
  const gitDir = fs.mkdtempSync(join(dir, 'git-'));
  const git = new GitPlumbing(gitDir, tree);
  return {
    take: async () => git.take(),
    restore: async (name) => git.restore(name),
    dispose: async () => fs.rmSync(gitDir, { recursive: true }),
  };
}

function pathOf(tree: string, file: number): string {
  return join(tree, `d${file % 20}`, `e${Math.floor(file / 20) % 10}`, `f${file}.txt`);
}

function makeTree(tree: string, { files, bytesPerFile }: SnapshotBenchOptions): void {
  for (let file = 0; file < files; file++) {
    const path = pathOf(tree, file);
    if (file < 200) fs.mkdirSync(join(path, '..'), { recursive: true });
    fs.writeFileSync(
      path,
      randomBytes(Math.ceil(bytesPerFile / 2))
        .toString('hex')
        .slice(0, bytesPerFile),
    );
  }
}

function edit(tree: string, { files }: SnapshotBenchOptions, round: number): void {
  for (let at = 0; at < 5; at++)
    fs.writeFileSync(pathOf(tree, (round * 7 + at * 131) % files), `edited ${round} ${at} ${randomBytes(8).toString('hex')}\n`);
  fs.writeFileSync(join(tree, 'd1', `new-${round}.txt`), 'new\n');
  fs.rmSync(pathOf(tree, (round * 7 + 977) % files));
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
}

/** Repeated measurements of a duration. */
class Samples {
  readonly #wall: number[] = [];
  #cpuMs = 0;

  async add(run: () => Promise<unknown>): Promise<void> {
    const [cpu, start] = [cpuMs(), performance.now()];
    await run();
    this.#wall.push(performance.now() - start);
    this.#cpuMs += cpuMs() - cpu;
  }

  get medianMs(): number {
    const sorted = [...this.#wall].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  }

  get meanCpuMs(): number {
    return this.#cpuMs / this.#wall.length;
  }
}

/** CPU time of this process and of its ended children. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  const fields = fs.readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (user + system) / 1000 + 10 * (Number(fields[13]) + Number(fields[14]));
}
