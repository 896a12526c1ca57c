import { describe, expect, it, vi } from 'vitest';
import { programsOf } from './bash.ts';
import { toolsFor } from './registry.ts';
import { openStage, timeless, type Case } from './testing/play.ts';

const { binary, begin, play } = await openStage();

const run = (name: string, args: object, text: Case['text'], ok = true): Case => ({ name, tool: 'bash', args, text, ok });

describe.skipIf(binary === '')('bash', () => {
  it.each([
    run('both outputs in the order of writing', { command: 'echo a; echo b >&2; echo c' }, 'a\nb\nc\n[exit status 0, N s]'),
    run('the exit status of the whole pipeline', { command: 'false | cat' }, '[exit status 1, N s, no output]', false),
    run('real bash', { command: 'a=(x y); echo "${a[1]}"; pwd | sed s,.*/,,' }, 'y\nworkspace\n[exit status 0, N s]'),
    run('standard input', { command: 'cat; printf end', stdin: 'in\n' }, 'in\nend\n[exit status 0, N s]'),
    run('no escapes, and what hides is seen', { command: String.raw`printf '\033[31mred\033[0m \007 \342\200\256x'` }, 'red  \\u{202e}x\n[exit status 0, N s]'),
    run('a limit of time, with what to do', { command: 'echo begun; sleep 30', timeout_seconds: 1 }, /^begun\n\[ended at its limit of 1 s; do less at once, raise timeout_seconds \(at most 600\)/, false),
    run('a signal', { command: 'kill -SEGV $$' }, /^\[ended after \d+\.\d s by signal SIGSEGV, no output\]$/, false),
    run('a syntax error', { command: 'if' }, /syntax error.*\n\[exit status 2, /s, false),
    run('processes that are left', { command: 'sleep 60 & echo left' }, /^left\n\[exit status 0, \d+\.\d s, 1 process that it left running ended with it; background keeps one\]$/),
    run('a limit of time where there is no network', { command: 'sleep 30 # npm install x', timeout_seconds: 1 }, '[ended at its limit of 1 s; there is no network to download from: do without, no output]', false),
    run('a change of folder that ends with its command', { command: 'cd /' }, '[exit status 0, N s, no output, cd holds for its own command only: write cd DIR && COMMAND, or name paths]'),
    run('a change of folder for what follows', { command: 'cd / && pwd' }, '/\n[exit status 0, N s]'),
    run('an interpreter without a program', { command: 'python3' }, '[exit status 0, N s, no output, it got no program: give one as stdin]'),
    run('an interpreter with one', { command: 'sh', stdin: 'true' }, '[exit status 0, N s, no output]'),
    run('no background where it is false', { command: 'echo 1', background: false }, '1\n[exit status 0, N s]'),
    run('a background process that has no name', { command: 'sleep 30', background: true }, '[job runs, no new output; the command "kill" with background "job" ends it]'),
    run('why a program that may download stays in the foreground', { command: 'npx vitest --watch', background: 'tests' }, 'background: npx may reach out of the sandbox, and what does runs in the foreground only; leave background out, or name the program in node_modules/.bin', false),
    run('a number in quotes', { command: 'echo 1', timeout_seconds: '5', stdin: null }, '1\n[exit status 0, N s]'),
  ])('$name', (one) => play(one)); // prettier-ignore

  it.each([
    ['cat gone.txt', true],
    ['ls gone; make', undefined],
    ['cat gone > a', undefined],
    ['grep -q x README.md', undefined],
    ['find . -name x', undefined],
  ])('knows a command that only looks: %s', async (command, looks) => {
    const bed = await begin();
    expect((await bed.call('bash', { command })).look).toBe(looks);
  });

  it('is there where the question for a shell was cut off', async () => {
    const bed = await begin();
    const { session } = bed.scope;
    const seen = await session.exec({ argv: ['true'], timeoutSeconds: 20 });
    // A fake: the keeper would have to die within these few milliseconds.
    const cutOff = { ...seen, end: { ...seen.end, exitCode: null, interrupted: 'KeeperRestarted' as const } };
    const exec = vi.spyOn(session, 'exec').mockResolvedValueOnce(cutOff);
    expect((await toolsFor(bed.scope)).definitions.map(({ name }) => name)).toContain('bash');
    exec.mockResolvedValue(cutOff);
    await expect(toolsFor(bed.scope)).rejects.toThrow(/cut off 4 times \(KeeperRestarted\); the task is tried again/);
  });

  it('has the bound of the pool', async () => {
    const bounded = (seconds: number): object => ({ tools: { deny: [], timeouts: { bash: seconds } } });
    const bed = await begin({ pool: bounded(1) });
    expect((await bed.call('bash', { command: 'sleep 30' })).text).toBe(
      '[ended at its limit of 1 s; do less at once or use background, no output]',
    );
    expect((await bed.call('bash', { command: 'true', timeout_seconds: 2 })).text).toBe(
      'timeout_seconds: 2 came; an integer from 1 to 1 is expected',
    );
  });

  it('is not run a second time under the same key', async () => {
    const bed = await begin();
    const first = await bed.call('bash', { command: 'echo x >> log; wc -l < log' }, 'same');
    const again = await bed.call('bash', { command: 'echo x >> log; wc -l < log' }, 'same');
    expect(again.text).toBe(first.text);
    expect(await bed.read('log')).toBe('x\n');
  });

  it('keeps named processes beside other calls and snapshots', async () => {
    const bed = await begin();
    const bash = async (args: object): Promise<string> => timeless((await bed.call('bash', args)).text);
    const command = 'echo up; sleep 0.2; echo x > f || echo closed; while sleep 0.1; do :; done';
    expect(await bash({ background: 'web', command, timeout_seconds: 2 })).toMatch(
      /^up\n.*f: Permission denied\nclosed\n\[web runs; the command "kill" with background "web" ends it\]$/s,
    );
    expect(await bash({ command: 'yes | head -1' })).toMatch(
      /^y\n\[exit status 141 \(a part of the pipe wrote on .*usually no fault\), N s\]$/,
    );
    expect(await bash({ command: 'echo y > g' })).toBe('[exit status 0, N s, no output]');
    expect(await bash({ background: 'web' })).toBe('[web runs, no new output]');
    expect(await bash({ background: 'web', command: 'true' })).toMatch(/^background: web runs already; end it first/);
    expect(await bash({ background: 'web', command: 'kill' })).toBe('[web: ended after N s: it was cancelled, no output]');
    expect(await bash({ background: 'job', command: 'echo done; exit 3' })).toBe('done\n[job: exit status 3, N s]');
    expect(await bash({ background: 'db' })).toBe('background: nothing was started as db; there are: web, job');
    expect(await bash({ background: 'out', command: 'git push origin main' })).toMatch(
      /runs in the foreground only; leave background out$/,
    );
    expect(await bed.propose('bash', { background: 'web', command: 'kill' })).toEqual({ rewrites: [], acts: [] });
    expect(await bed.read('f')).toBe(null);
  });

  it('names the programs that are there, interpreters with their versions', async () => {
    const [line = ''] = await programsOf((await begin()).scope.session);
    expect(line).toMatch(/^Programs: (?:.*, )?python3 3\.\d+\.\d+(?:,.*)?\.$/);
    expect(line).not.toMatch(/\b(?:node|ruby|php)(?:,|\.$| \d[\d.]*\.[,.])/);
  });

  it('proposes its command for both gates', async () => {
    const bed = await begin();
    expect(await bed.propose('bash', { command: 'rm -r /' })).toEqual({ rewrites: [], acts: [{ tool: 'Shell', command: 'rm -r /' }] });
  });
});
