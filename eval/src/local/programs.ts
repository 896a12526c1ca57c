/** Programs of a sandbox on this machine: the keeper as one file, and the runner. Built from the sources of a checkout. */
import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { EvalError } from '../run/failure.ts';

const run = promisify(execFile);

/** Paths on this machine. */
export interface Programs {
  /** Folder with `keeper.js`. */
  readonly keeper: string;
  /** Folder with `runner`. */
  readonly bin: string;
  readonly node: string;
  /** Folders that sandboxes see beside those of the system. */
  readonly binds: readonly string[];
  /** Folders of packages that were installed on this machine, which sandboxes see empty. */
  readonly hidden: readonly string[];
  /** PATH of commands. */
  readonly toolsPath: string;
}

const requireHere = "import{createRequire as requireOf}from'node:module';const require=requireOf('file:///');";
const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

const grammars = ['bash', 'go', 'java', 'javascript', 'python', 'rust', 'tsx', 'typescript'];

/** Builds the keeper, its parser thread, and the files that both expect beside them, as in the sandbox image. */
async function buildKeeper(checkout: string, folder: string): Promise<void> {
  const sources = join(checkout, 'sandbox-image', 'keeper', 'src');
  const entries = { keeper: join(sources, 'main.ts'), 'keeper-syntax': join(sources, 'files', 'syntax', 'thread.ts') };
  const common = { bundle: true, platform: 'node', format: 'esm', target: 'node24', logLevel: 'silent' } as const;
  await build({ ...common, entryPoints: entries, outdir: folder, banner: { js: requireHere } });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const { resolve } = createRequire(entries.keeper);
  const modules = [
    'web-tree-sitter/web-tree-sitter.wasm',
    ...grammars.map((name) => `@vscode/tree-sitter-wasm/wasm/tree-sitter-${name}.wasm`),
  ];
  for (const name of modules) await copyFile(resolve(name), join(folder, basename(name)));
}

/** Returns Python's prefix when it is not the system's: shims in a home are useless in a sandbox. */
async function pythonPrefix(): Promise<string | undefined> {
  const found = await run('python3', ['-c', 'import sys; print(sys.base_prefix)']).catch(() => undefined);
  const prefix = found?.stdout.trim();
  return prefix === undefined || prefix === '' || prefix.startsWith('/usr') ? undefined : prefix;
}

/**
 * Returns the folders of Python's packages on this machine, beside its standard library: a task whose answer is an
 * installed package is no task, and a result must not depend on the machine.
 */
async function pythonPackages(): Promise<readonly string[]> {
  const ask = 'import os, site; print("\\n".join(one for one in site.getsitepackages() if os.path.isdir(one)))';
  const asked = ['python3', '/usr/bin/python3'].map((program) => run(program, ['-c', ask]).catch(() => ({ stdout: '' })));
  const folders = (await Promise.all(asked)).flatMap(({ stdout }) => stdout.split('\n')).filter((folder) => folder !== '');
  return [...new Set(folders)];
}

/**
 * Builds keeper and runner into two folders.
 *
 * @throws EvalError where Go, a namespace or the sources are missing
 */
export async function buildPrograms(checkout: string, { keeper, bin }: { keeper: string; bin: string }): Promise<Programs> {
  await run('unshare', ['--mount', '--pid', '--net', '--fork', 'true']).catch((cause: unknown) => {
    throw new EvalError('this machine lets us make no namespaces, which local sandboxes need; run as root, or use --pool NAMESPACE/NAME', {
      cause,
    });
  });
  await buildKeeper(checkout, keeper);
  const go = { cwd: join(checkout, 'sandbox-image', 'runner'), env: { ...process.env, CGO_ENABLED: '0' } };
  await run('go', ['build', '-trimpath', '-o', join(bin, 'runner'), '.'], go).catch((cause: unknown) => {
    throw new EvalError(
      `the runner cannot be built (${(cause as Error).message.split('\n')[0]}); install Go, or use --pool NAMESPACE/NAME`,
      { cause },
    );
  });
  const prefix = await pythonPrefix();
  const own = [dirname(process.execPath), ...(prefix === undefined ? [] : [join(prefix, 'bin')])];
  const binds = [dirname(process.execPath), ...(prefix === undefined ? [] : [prefix])];
  const hidden = await pythonPackages();
  return { keeper, bin, node: process.execPath, binds, hidden, toolsPath: [...own, ...systemPath].join(':') };
}
