import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { coded, createLog, errorFields, processErrors } from './index.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Sources of the processes whose failures have codes, without their tests. */
function sources(...folders: readonly string[]): readonly { path: string; text: string }[] {
  const listed = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' }).split('\n');
  const own = listed.filter((path) => path.endsWith('.ts') && !/\.test\.ts$|\/testing\//u.test(path));
  return own.flatMap((path) => {
    try {
      return [{ path, text: readFileSync(root + path, 'utf8') }];
    } catch {
      return [];
    }
  });
}

test('a line is one object; a field does not overwrite level, time and message', () => {
  const lines: string[] = [];
  const log = createLog(
    'info',
    (line) => lines.push(line),
    () => 0,
  );
  log.debug('unheard');
  log.warn('late', { msg: 'other', level: 'x', ms: 3 });
  log.error('failed', errorFields(new Error('no disk', { cause: 'full' })));
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[0] ?? '')).toEqual({ level: 'warn', time: '1970-01-01T00:00:00.000Z', msg: 'late', ms: 3 });
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ msg: 'failed', error: 'no disk', cause: { error: 'full' } });
});

describe('the catalogue of failures', () => {
  const read = sources('operator/src', 'operator/kube/src', 'agent-image/src');

  test('has a code for each error that operator and worker log, and each code is in use', () => {
    const calls = read.flatMap(({ path, text }) =>
      [...text.matchAll(/log\.error\((.{0,160})/gsu)].map(([, call = '']) => ({ path, call })),
    );
    expect(calls.length).toBeGreaterThan(10);
    // What hands a line on to another log adds no code.
    const own = calls.filter(({ path }) => !path.endsWith('runtime/log.ts'));
    for (const { path, call } of own) expect(call, path).toMatch(/AF_[A-Z_]+/u);
    const used = new Set(read.flatMap(({ text }) => text.match(/'AF_[A-Z_]+'/gu) ?? []));
    for (const code of Object.keys(processErrors)) expect(used, code).toContain(`'${code}'`);
    for (const [, code = ''] of own.map(({ call }) => /'(AF_[A-Z_]+)'/u.exec(call) ?? [])) expect(processErrors).toHaveProperty(code);
  });

  test('gives the cure with the code', () => {
    expect(coded('AF_AUDIT_GAP', { records: 3 })).toEqual({ records: 3, code: 'AF_AUDIT_GAP', cure: processErrors.AF_AUDIT_GAP.cure });
  });
});
