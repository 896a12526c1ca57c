import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Python {
  readonly program: string;
  /** `[3, 12]`. */
  readonly version: readonly [number, number];
  readonly pytest: boolean;
}

const facts =
  'import sys, importlib.util as u; print(sys.executable, sys.version_info[0], sys.version_info[1], bool(u.find_spec("pytest")))';

/** The Pythons of this machine that can be traced, one for each version: those of the PATH and of pyenv. */
export async function pythons(): Promise<readonly Python[]> {
  const versions = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions');
  const installed = (await readdir(versions).catch(() => [])).map((name) => join(versions, name, 'bin', 'python'));
  const names = ['python3', ...[8, 9, 10, 11, 12, 13, 14].map((minor) => `python3.${minor}`), ...installed];
  const found = new Map<string, Python>();
  for (const name of names) {
    const { stdout } = await run(name, ['-c', facts]).catch(() => ({ stdout: '' }));
    const [program, major, minor, pytest] = stdout.trim().split(' ');
    if (program === undefined || Number(major) !== 3 || Number(minor) < 8) continue;
    const python: Python = { program, version: [3, Number(minor)], pytest: pytest === 'True' };
    if (found.get(`${minor}`)?.pytest !== true) found.set(`${minor}`, python);
  }
  return [...found.values()].sort((a, b) => a.version[1] - b.version[1]);
}

/** One Python for each tracing API: before 3.12, and since. */
export async function oneOfEachWay(): Promise<readonly Python[]> {
  const all = await pythons();
  const choose = (these: readonly Python[]): readonly Python[] =>
    [these.find(({ pytest }) => pytest) ?? these.at(-1)].filter((one) => one !== undefined);
  return [...choose(all.filter(({ version }) => version[1] < 12)), ...choose(all.filter(({ version }) => version[1] >= 12))];
}
