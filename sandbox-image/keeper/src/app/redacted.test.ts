import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execBounds, type AuditRecord } from '@agentfleet/protocol/keeper';
import type { Snapshots } from '../durable/snapshots.ts';
import { startHarness, ulid, type FakeRunner, type Harness } from '../testing/index.ts';

// Split, so that secret scanners do not report this file.
const token = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
const marked = '[REDACTED:Token]';
let h: Harness;

beforeEach(async () => {
  h = await startHarness();
});
afterEach(() => h[Symbol.asyncDispose]());

const at = (name: string): string => join(h.workspace, name);
const records = async (type: AuditRecord['type']): Promise<readonly unknown[]> => {
  const found: unknown[] = [];
  for await (const record of h.client().events()) if (record.type === type) found.push(record.body);
  return found;
};
const seen = (commands: readonly (readonly string[])[]) => ({
  onFrame: ({ header }: { readonly header: Readonly<Record<string, unknown>> }, runner: FakeRunner): void => {
    if (header['t'] !== 'exec') return;
    expect(header['trace']).toBe(true);
    const id = String(header['id']);
    runner.end(id, { commands: commands.map((argv, index) => ({ pid: index + 2, parent: 1, atMs: 5, argv })), moreCommands: 7 });
  },
});
const says = (...chunks: readonly string[]) => ({
  onFrame: ({ header }: { readonly header: Readonly<Record<string, unknown>> }, runner: FakeRunner): void => {
    if (header['t'] !== 'exec') return;
    const id = String(header['id']);
    runner.send({ t: 'start', id, pid: 1 });
    for (const chunk of chunks) runner.out(id, 'stdout', Buffer.from(chunk));
    runner.end(id);
  },
});

describe('answers of the keeper', () => {
  it('has no secrets: lines, lists, searches, bytes; the disk keeps them, and so do hashes', async () => {
    const text = `key: ${token}\nnext\n`;
    await writeFile(at('f'), text);
    await mkdir(at(token));
    const client = h.client();
    const lines = await client.readLines(at('f'));
    expect(lines).toMatchObject({ text: `key: ${marked}\nnext\n`, redacted: { Token: 1 }, lines: 2 });
    expect(await client.listFiles(h.workspace)).toMatchObject({ entries: [{ path: 'f' }, { path: marked }], redacted: { Token: 1 } });
    expect(await client.searchFiles({ path: h.workspace, text: 'key' })).toMatchObject({
      matches: [{ text: `key: ${marked}` }],
      redacted: { Token: 1 },
    });
    expect((await client.readFile(at('f'))).toString()).toBe(`key: ${marked}\nnext\n`);
    expect((await client.readFile(at('f'), 'Raw')).toString()).toBe(text);
    expect(await readFile(at('f'), 'utf8')).toBe(text);
    const edited = await client.replaceInFile({ path: at('f'), old: 'next', new: 'last', expectedSha256: lines.sha256 });
    expect(edited.previousSha256).toBe(lines.sha256);
    expect(await records('Redacted')).toHaveLength(4);
    expect(await records('RawRead')).toEqual([{ what: 'Bytes', name: at('f') }]);
    const metrics = await (await fetch(`${h.running.address}/metrics`)).text();
    expect(metrics).toContain('agentfleet_keeper_redactions_total{kind="Token"} 4');
    expect(metrics).toContain('agentfleet_keeper_raw_reads_total 1');
  });

  it('has no lines of a key and no part of a token in searches, whatever is searched for', async () => {
    const body = Array.from({ length: 6 }, (_, n) => `${n}${'aB3/x'.repeat(13)}`.slice(0, 64));
    const filler = 'x, '.repeat(300);
    const [begin, end] = ['BEGIN', 'END'].map((word) => `-----${word} RSA PRIVATE KEY-----`);
    await writeFile(at('key'), [begin, ...body, end, 'after', ''].join('\n'));
    await writeFile(at('long'), `${filler}${token}", here${filler}\n`);
    const search = async (regex: string, redaction?: 'Raw'): Promise<string> => {
      const { matches } = await h.client().searchFiles({ path: h.workspace, regex, ...(redaction && { redaction }) });
      return matches.map(({ text }) => text).join('\n');
    };
    const found = await search('.');
    for (const line of body) expect(found).not.toContain(line.slice(0, 12));
    expect(found).toContain('after');
    expect(await search('3/xaB3')).toBe(Array.from(body, () => '[REDACTED:PrivateKey]').join('\n'));
    expect(await search('3/xaB3', 'Raw')).toBe(body.join('\n'));
    for (const part of ['here', 'abcdefghij', 'EFGHIJ456']) {
      const shown = await search(part);
      expect(shown, part).not.toContain('456789');
      expect(shown, part).not.toContain('0123456');
    }
    expect(await search('here')).toContain(`${marked}", here`);
  });

  it('has no secrets in large files either, which are streamed', async () => {
    const filler = 'some words that fill the line\n'.repeat(3000);
    const text = `${filler}${token}\n`.repeat(30);
    await writeFile(at('large'), text);
    const read = (await h.client().readFile(at('large'))).toString();
    expect(read).toBe(text.replaceAll(token, marked));
    expect(await records('Redacted')).toEqual([{ what: 'Bytes', name: at('large'), counts: { Token: 30 } }]);
  });

  it('have no secrets in the output of commands, even split over two chunks; end, journal and log agree', async () => {
    await h.runner(says('a ', token.slice(0, 9), `${token.slice(9)}\nb\n`));
    const client = h.client();
    const request = { execId: ulid(), tool: 'Shell', command: `curl -H "Authorization: Bearer ${token}"` } as const;
    const { stdout, end } = await client.run(request);
    expect(stdout).toBe(`a ${marked}\nb\n`);
    expect(end.redacted).toEqual({ Token: 1 });
    expect((await client.run(request)).stdout).toBe(stdout);
    expect(await readFile(join(h.store, 'execs', `${request.execId}.ndjson`), 'utf8')).not.toContain(token.slice(4));
    expect(await records('ExecEnded')).toMatchObject([{ redacted: { Token: 1 } }]);
    expect(await readFile(join(h.store, 'events.log'), 'utf8')).not.toContain(token.slice(4));
    expect((await client.audit()).ok).toBe(true);
  });

  it('are exact for a command that requests it, and the intent records that', async () => {
    await h.runner(says(`${token}\n`));
    const { stdout, end } = await h.client().run({ execId: ulid(), tool: 'Shell', command: 'x', redaction: 'Raw' });
    expect(stdout).toBe(`${token}\n`);
    expect(end.redacted).toBeUndefined();
    expect(await records('ExecRequested')).toMatchObject([{ redaction: 'Raw' }]);
  });

  it.each(['Redact', 'Raw'] as const)('has no secrets in the commands of descendants, which are bounded (%s)', async (redaction) => {
    const long = `${'x'.repeat(1010)} ${token}`;
    const many = Array.from({ length: 300 }, (_, index) => ['echo', String(index)]);
    await h.runner(seen([['git', 'push', token], ['sh', '-c', long], ['\u0001'.repeat(8000)], ...many]));
    const { end } = await h.client().run({ execId: ulid(), tool: 'Shell', command: 'x', redaction, trace: true });
    const { commands = [] } = end;
    expect(commands[0]).toEqual({ pid: 2, parent: 1, atMs: 5, argv: ['git', 'push', marked] });
    expect(commands[1]?.argv[2]).toMatch(/^x{1010} \[REDA\S*…$/);
    expect(commands.every(({ argv }) => argv.join(' ').length <= execBounds.seenChars + 1)).toBe(true);
    expect(commands).toHaveLength(execBounds.seenCommands);
    expect(end.moreCommands).toBe(7 + 303 - execBounds.seenCommands);
    expect(await records('ExecEnded')).toMatchObject([{ commands, moreCommands: end.moreCommands }]);
    expect(await readFile(join(h.store, 'events.log'), 'utf8')).not.toContain(token.slice(4));
  });

  it('keep as many of several long commands as fit', async () => {
    await h.runner(seen(Array.from({ length: 200 }, () => ['"'.repeat(2000)])));
    const { end } = await h.client().run({ execId: ulid(), tool: 'Shell', command: 'x', trace: true });
    const bytes = Buffer.byteLength(JSON.stringify(end.commands));
    expect(bytes).toBeGreaterThan(execBounds.seenBytes - 4096);
    expect(bytes).toBeLessThan(execBounds.seenBytes + 4096);
    expect((end.commands?.length ?? 0) + (end.moreCommands ?? 0)).toBe(207);
  });

  it('have a marker for each line of a key, whichever lines are asked for, with the numbers of the file', async () => {
    const body = ['A', 'B', 'C'].map((char) => `${char}q`.repeat(32));
    const key = ['-----BEGIN RSA PRIVATE KEY-----', ...body, `${'x'.repeat(30)}==`, '-----END RSA PRIVATE KEY-----'];
    await writeFile(at('f'), `one\n${key.join('\n')}\nlast\n`);
    const hidden = '[REDACTED:PrivateKey]\n';
    const shown = async (from: number, to: number): Promise<string> => (await h.client().readLines(at('f'), from, to)).text;
    expect(await shown(1, 8)).toBe(`one\n${hidden.repeat(6)}last\n`);
    expect(await shown(4, 5)).toBe(hidden.repeat(2));
    expect(await shown(8, 8)).toBe('last\n');
    await writeFile(at('f'), `// -----BEGIN PRIVATE KEY-----\nnext\n`);
    expect(await shown(2, 2)).toBe('next\n');
  });

  it('have no declared values, nor has any log or file of the store', async () => {
    const value = 'four plain words here';
    expect(await h.client().declareSecrets([{ name: 'git/host', value }])).toEqual({ declared: 1 });
    await writeFile(at('f'), `say ${value}!\n`);
    expect(await h.client().readLines(at('f'))).toMatchObject({ text: 'say [REDACTED:Declared]!\n' });
    expect(await records('SecretsDeclared')).toEqual([{ names: ['git/host'] }]);
    expect(await readFile(join(h.store, 'events.log'), 'utf8')).not.toContain(value);
    expect(h.logs.join('')).not.toContain(value);
    await expect(h.client().declareSecrets([{ name: 'short', value: 'seven77' }])).rejects.toMatchObject({ code: 'AF_INVALID' });
  });

  it('has no secrets in a diff that is shown, and all of it in one that is applied', async () => {
    await h[Symbol.asyncDispose]();
    const diff = { from: 's0001', to: 'current', entries: [], unified: `+${token}\n` };
    const snapshots = { list: () => [], diff: () => Promise.resolve(diff), close: () => Promise.resolve() };
    h = await startHarness({ snapshots: snapshots as unknown as Snapshots });
    expect(await h.client().diff('s0001')).toMatchObject({ unified: `+${marked}\n`, redacted: { Token: 1 } });
    expect(await h.client().diff('s0001', undefined, 'Raw')).toEqual({ from: 's0001', to: 'current', entries: [], unified: `+${token}\n` });
    expect(await records('RawRead')).toEqual([{ what: 'Diff', name: 's0001..current' }]);
  });
});

describe('edits over HTTP', () => {
  it('are refused when they add syntax errors, in all their forms, and change nothing', async () => {
    const client = h.client();
    const good = 'def f(x):\n    return x\n';
    await client.writeFile(at('a.py'), good, undefined, 'Check');
    const refused = expect.objectContaining({
      code: 'AF_EDIT_SYNTAX',
      status: 422,
      message: expect.stringMatching(/line 1, column \d+/) as string,
    }) as unknown;
    await expect(client.writeFile(at('a.py'), 'def f(:\n', undefined, 'Check')).rejects.toEqual(refused);
    await expect(client.replaceInFile({ path: at('a.py'), old: '(x):', new: '(x:' })).rejects.toEqual(refused);
    const diff = '--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-def f(x):\n+def f(x:\n     return x\n';
    await expect(client.applyPatch({ requestId: ulid(), path: h.workspace, diff })).rejects.toEqual(refused);
    await expect(client.astEdit({ path: at('a.py'), pattern: 'return $X', rewrite: 'return ($X' })).rejects.toMatchObject({
      code: 'AF_EDIT_SYNTAX',
    });
    expect(await readFile(at('a.py'), 'utf8')).toBe(good);
    expect(await records('PatchApplied')).toEqual([]);
    expect(await client.replaceInFile({ path: at('a.py'), old: '(x):', new: '(x:', syntax: 'Skip' })).toMatchObject({ syntax: 'Skipped' });
    expect(await client.writeFile(at('b.py'), 'def f(:\n')).not.toHaveProperty('syntax');
  });

  it('change code by its structure', async () => {
    const client = h.client();
    const old = await client.writeFile(at('a.ts'), `log(1, "${token}");\nlog(2);\n`, '755');
    const edit = { path: at('a.ts'), pattern: 'log($A, $$$R)', rewrite: 'warn($$$R, $A)', expectedSha256: old.sha256 };
    const dry = await client.astEdit({ ...edit, dryRun: true });
    expect(dry).toMatchObject({ applied: false, matches: 2, replaced: 2, language: 'typescript', syntax: 'Checked' });
    expect(dry.snippets[0]).toEqual({ line: 1, before: `log(1, "${marked}")`, after: `warn("${marked}", 1)` });
    expect(await readFile(at('a.ts'), 'utf8')).toContain('log(1');
    expect(await client.astEdit({ ...edit, max: 1 })).toMatchObject({ applied: true, matches: 2, replaced: 1, previousSha256: old.sha256 });
    expect(await readFile(at('a.ts'), 'utf8')).toBe(`warn("${token}", 1);\nlog(2);\n`);
    await expect(client.astEdit(edit)).rejects.toMatchObject({ code: 'AF_EDIT_STALE' });
    expect(await records('FileWritten')).toMatchObject([{}, { how: 'AstEdit', replaced: 1, created: false }]);
  });

  it('report the fault of a structural edit', async () => {
    const client = h.client();
    await client.writeFile(at('a.js'), 'f(1);\n');
    await client.writeFile(at('words'), 'f(1)\n');
    const edit = { path: at('a.js'), pattern: 'f($A)', rewrite: 'g($A)' };
    for (const [change, code] of [
      [{ pattern: 'f(' }, 'AF_AST_PATTERN'],
      [{ pattern: 'f(1); g(2);' }, 'AF_AST_PATTERN'],
      [{ rewrite: '$B' }, 'AF_AST_PATTERN'],
      [{ pattern: 'h($A)' }, 'AF_EDIT_MATCH'],
      [{ path: at('words') }, 'AF_LANGUAGE_UNKNOWN'],
      [{ path: at('none.js') }, 'AF_FILE_NOT_FOUND'],
      [{ path: '/etc/a.js' }, 'AF_PATH_OUTSIDE_ROOTS'],
      [{ language: 'cobol' as 'go' }, 'AF_INVALID'],
    ] as const) {
      await expect(client.astEdit({ ...edit, ...change }), JSON.stringify(change)).rejects.toMatchObject({ code });
    }
    expect(await client.astEdit({ ...edit, path: at('words'), language: 'javascript' })).toMatchObject({
      replaced: 1,
      syntax: 'NotChecked',
    });
  });
});
