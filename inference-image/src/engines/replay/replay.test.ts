import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GenerateRequest } from '@agentfleet/protocol/inference';
import type { Generated } from '../../base/engine.ts';
import type { Answer } from '../../base/served.ts';
import { readRecords, ReplayEngine } from './replay.ts';

const goal = 'Make it pass.';
const request: GenerateRequest = {
  requestId: 'r',
  role: 'Generalist',
  goal,
  step: 0,
  grammar: 'Edit',
  files: [{ path: 'a.js', content: '// é\nconst a = 1;\n' }],
  localisation: { spectrum: { passed: 0, failed: 0, lines: [] }, failingTests: [] },
  k: 8,
  maxEdits: 1,
  exclude: [],
  seed: 0,
  budgetMillis: 100,
};
const one = { path: 'a.js', before: 'a = 1', after: 'a = 2' };
const record = {
  format: 'agentfleet.dev/replay/v1',
  records: [
    {
      goal,
      steps: [
        [{ edits: [{ ...one, after: 'a = 3' }] }, { edits: [one], weight: 3, operator: 'model', rationale: 'two' }],
        [{ edits: [{ ...one, before: 'gone' }] }],
      ],
    },
  ],
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'replay-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function engine(content: unknown = record): Promise<ReplayEngine> {
  const file = join(folder, 'record.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return new ReplayEngine(await readRecords(folder), () => 0);
}

async function ask(change: Partial<GenerateRequest> = {}): Promise<Answer<Generated> | undefined> {
  return (await (await engine()).generate([{ ...request, ...change }], new AbortController().signal))[0];
}

describe('the Replay engine', () => {
  it('proposes the record, the heavier first, at its place in the file', async () => {
    const outcome = await ask();
    const edits = [{ path: 'a.js', range: { startByte: 12, endByte: 17 }, before: 'a = 1', after: 'a = 2' }];
    expect(outcome).toMatchObject({
      answer: {
        candidates: [
          { rank: 1, score: 0.75, operator: 'model', edits, location: { line: 2, column: 6 } },
          { rank: 2, score: 0.25 },
        ],
        exhausted: true,
      },
    });
  });

  it('leaves out tried candidates', async () => {
    const outcome = await ask();
    const tried = outcome !== undefined && 'answer' in outcome ? outcome.answer.candidates.map(({ id }) => id) : [];
    expect(await ask({ exclude: tried.slice(0, 1) })).toMatchObject({ answer: { candidates: [{ id: tried[1], rank: 1 }] } });
    expect(await ask({ exclude: tried })).toMatchObject({ answer: { candidates: [], exhausted: true } });
  });

  it('refuses a goal without a record, steps after the end, and another program', async () => {
    expect(await ask({ goal: 'Another.' })).toMatchObject({ error: { code: 'AF_RECORD_UNKNOWN', field: 'goal' } });
    expect(await ask({ step: 2 })).toMatchObject({ error: { code: 'AF_RECORD_ENDED', field: 'step' } });
    expect(await ask({ step: 1 })).toMatchObject({ error: { code: 'AF_RECORD_MISMATCH' } });
    expect(await ask({ files: [{ path: 'a.js', content: 'a = 1; a = 1;' }] })).toMatchObject({ error: { code: 'AF_RECORD_MISMATCH' } });
    expect(await ask({ files: [{ path: 'b.js', content: '' }] })).toMatchObject({ error: { code: 'AF_RECORD_MISMATCH' } });
  });

  it('may propose a place that the request did not show, when the record has it exactly', async () => {
    const edit = { path: 'tests/a.py', before: 'x', after: 'y', range: { startByte: 0, endByte: 1 }, expectedSha256: 'a'.repeat(64) };
    const bad = await engine({ ...record, records: [{ goal, steps: [[{ edits: [edit] }]] }] });
    expect(await bad.generate([request], new AbortController().signal)).toMatchObject([{ answer: { candidates: [{ edits: [edit] }] } }]);
  });

  const acting = { edits: [one], acts: [{ tool: 'Shell', command: 'rm -rf build' }], weight: 4 };
  const acts = { ...record, records: [{ goal, steps: [[acting, { edits: [], acts: acting.acts }, { edits: [one], weight: 1 }]] }] };
  const never = new AbortController().signal;

  it('gives acts only under the grammar that has them, and counts the omitted ones', async () => {
    const engineOfActs = await engine(acts);
    const [tool] = await engineOfActs.generate([{ ...request, grammar: 'Tool' }], never);
    expect(tool).toMatchObject({ answer: { candidates: [{ acts: acting.acts, score: 4 / 6 }, { edits: [] }, {}], exhausted: true } });
    const [edit] = await engineOfActs.generate([request], never);
    expect(edit).toMatchObject({ answer: { candidates: [{ rank: 1, score: 1 / 6 }], exhausted: true, stats: { considered: 3 } } });
    expect(JSON.stringify(edit)).not.toContain('rm -rf');
  });

  it('distinguishes candidates with and without acts; the id of edits alone is unchanged', async () => {
    const [tool] = await (await engine(acts)).generate([{ ...request, grammar: 'Tool' }], never);
    const ids = tool !== undefined && 'answer' in tool ? tool.answer.candidates.map(({ id }) => id) : [];
    expect(new Set(ids).size).toBe(3);
    const outcome = await ask();
    const first = outcome !== undefined && 'answer' in outcome ? outcome.answer.candidates[0] : undefined;
    expect(ids).toContain(first?.id);
    const edits = first?.edits.map((e) => [e.path, e.range.startByte, e.range.endByte, e.before, e.after, e.expectedSha256]);
    expect(first?.id).toBe(`sha256:${createHash('sha256').update(JSON.stringify(edits)).digest('hex')}`);
  });

  it('refuses a record in which a candidate does nothing', async () => {
    const idle = { ...record, records: [{ goal, steps: [[acting], [{ edits: [one] }, { edits: [] }]] }] };
    await expect(engine(idle)).rejects.toThrow(/record\.json: "Make it pass\.", steps\.1\.1: .*neither an edit nor an act/);
  });

  it('names the file of a record that it cannot read', async () => {
    await expect(engine('{')).rejects.toThrow(/record\.json: it is not JSON/);
    await expect(engine({ ...record, extra: 1 })).rejects.toThrow(/record\.json: .*additional/);
    await expect(engine({ ...record, records: [...record.records, ...record.records] })).rejects.toThrow(/recorded twice/);
  });
});
