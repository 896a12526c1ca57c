/** What a sandbox on this machine is made of: the keeper as one file, and the runner. Made from the sources of a checkout. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { EvalError } from '../failure.ts';

const run = promisify(execFile);

/** Where things are on this machine. */
export interface Programs {
  /** Folder with `keeper.mjs`. */
  readonly keeper: string;
  /** Folder with `runner`. */
  readonly bin: string;
  readonly node: string;
  /** Folders that sandboxes see beside those of the system. */
  readonly binds: readonly string[];
  /** PATH of commands. */
  readonly toolsPath: string;
}

const requireHere = "import{createRequire}from'node:module';const require=createRequire('file:///');";
const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

async function buildKeeper(checkout: string, folder: string): Promise<void> {
  const entry = join(checkout, 'sandbox-image', 'keeper', 'src', 'main.ts');
  const common = { bundle: true, platform: 'node', format: 'esm', target: 'node24', write: false, logLevel: 'silent' } as const;
  const { outputFiles } = await build({ ...common, entryPoints: [entry], banner: { js: requireHere } });
  await writeFile(join(folder, 'keeper.mjs'), outputFiles[0]?.contents ?? '');
}

/** Where Python lives when it is not the system's: shims in a home are of no use in a sandbox. */
async function pythonPrefix(): Promise<string | undefined> {
  const found = await run('python3', ['-c', 'import sys; print(sys.base_prefix)']).catch(() => undefined);
  const prefix = found?.stdout.trim();
  return prefix === undefined || prefix === '' || prefix.startsWith('/usr') ? undefined : prefix;
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
  return { keeper, bin, node: process.execPath, binds, toolsPath: [...own, ...systemPath].join(':') };
}
