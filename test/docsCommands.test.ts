// Every command of the documentation, as a shell reads it: `fleet` knows its commands and options, and scripts and files are there.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommanderError, type Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../cli/src/run.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
});
const pages = listed.split('\0').filter((path) => path !== '' && existsSync(root + path) && !/^test\/(packs|full)\//.test(path));
const blocks = pages.flatMap((page) =>
  [...readFileSync(root + page, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = '']): [string, string] => [
    `${page}: ${text.split('\n')[0] ?? ''}`,
    text,
  ]),
);

/** A shell without programs: each call of one becomes a line of words separated by tabs. Its output is a hash. */
const prelude = `
command_not_found_handle() { local line; printf -v line '%s\\t' "$@"; printf '%s\\n' "$line" >&3; printf %064d 0; }
exec 3>&1 >/dev/null
PATH=/nowhere
set -f
`;

/** The calls of a block. Throws where the shell cannot read it. */
function callsOf(text: string): readonly (readonly string[])[] {
  const cwd = mkdtempSync(join(tmpdir(), 'commands-'));
  try {
    const out = execFileSync('bash', ['-c', `${prelude}\n${text}`], {
      cwd,
      encoding: 'utf8',
      timeout: 20_000,
      env: { HEAD: '0'.repeat(64) },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return out
      .split('\n')
      .filter(Boolean)
      .map((line) => line.replace(/\t$/, '').split('\t'));
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

function quieten(command: Command): Command {
  command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  for (const sub of command.commands) quieten(sub);
  return command;
}

/** Returns `fleet`'s refusal of its arguments; undefined: accepted. */
async function refusal(args: readonly string[]): Promise<string | undefined> {
  const nothing = (): Promise<void> => Promise.resolve();
  try {
    await quieten(await createProgram({ connected: nothing, locally: nothing }, args)).parseAsync([...args], { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    return error instanceof Error ? error.message : String(error);
  }
}

const scripts = (JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { readonly scripts: Readonly<Record<string, string>> }).scripts;
const missing = (path: string): boolean => /^(examples|hack|test|docs|charts)\//.test(path) && !existsSync(root + path);

/** Returns the fault of a call. */
async function faultOf([program = '', ...args]: readonly string[]): Promise<string | undefined> {
  if (program === 'fleet') return refusal(args);
  if (program === 'kubectl' && args[0] === 'fleet') return refusal(args.slice(1));
  if (program === 'npm' && args[0] === 'run' && scripts[args[1] ?? ''] === undefined) return `there is no script ${args[1] ?? ''}`;
  const [path] = args.filter(missing);
  return path === undefined ? undefined : `there is no ${path}`;
}

describe('commands in pages', () => {
  it.each(blocks)('%s', async (_, text) => {
    const faults: string[] = [];
    for (const call of callsOf(text)) {
      const fault = await faultOf(call);
      if (fault !== undefined) faults.push(`${call.join(' ')}: ${fault}`);
    }
    expect(faults).toEqual([]);
  });

  it('are read, and a wrong one is seen', async () => {
    const all = blocks.flatMap(([, text]) => callsOf(text));
    expect(all.filter(([program, first]) => program === 'fleet' || first === 'fleet').length).toBeGreaterThan(30);
    const wrong = callsOf(
      "fleet watch one --until 'the end'; npm run nothing\nkubectl apply -f examples/none.yaml; kubectl fleet watch a b",
    );
    expect(await Promise.all(wrong.map(faultOf))).toEqual([
      expect.stringContaining("unknown option '--until'"),
      'there is no script nothing',
      'there is no examples/none.yaml',
      expect.stringContaining('too many arguments'),
    ]);
  });
});
