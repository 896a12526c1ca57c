import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exchangesOf, type Conversation } from '@agentfleet/protocol/chat';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { promptsOf, TraceCandidate, TraceHeader, TraceProposal, type TraceLine } from '@agentfleet/protocol/trace';
import { Ajv } from 'ajv';
import { expect, test, vi } from 'vitest';
import type { AttemptContext } from '../../agent-image/src/attempt/index.ts';
import { consentOf, traceOf } from '../../agent-image/src/trace/index.ts';
import { scenarios } from '../sandbox/conversations.ts';
import { AgentBed, eachBed, runnerOfTests, ScriptedModels, steps, type Reply, type Script } from './agentBed.ts';
import { LocalSandbox } from './localSandbox.ts';
import { generalist, LoopBed, taskFor } from './loopBed.ts';
import { fourProposals, twoBugs } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** Traces of whole attempts on a real keeper and a real runner: the prompts from the log are those that the model was sent. */
const { binary, describe } = await runnerOfTests();
const training = { trace: { consent: 'Training' } } as const;

/** The answers of a recorded conversation, in their order. */
async function recorded(name: string): Promise<Script> {
  const text = await readFile(join(import.meta.dirname, `../sandbox/conversations/${name}.json`), 'utf8');
  const replies = exchangesOf(JSON.parse(text) as Conversation).map(({ response }): Reply => {
    const { content, tool_calls: calls = [] } = response.choices[0]?.message ?? { role: 'assistant' };
    const answered = typeof content === 'string' ? content : '';
    return { text: answered, calls: calls.map(({ function: { name: tool, arguments: args } }) => [tool, args] as const) };
  });
  return steps(...replies);
}

function specOf(name: string): Partial<AgentTaskSpec> {
  const { goal, files, checks } = scenarios.find((one) => one.name === name) ?? scenarios[0] ?? { goal: '', files: {}, checks: [] };
  return { ...taskFor(files, ['true'], goal), checks, ...training } as unknown as Partial<AgentTaskSpec>;
}

const proposals = (lines: readonly TraceLine[]): readonly TraceProposal[] =>
  lines.filter((line): line is TraceProposal => line.type === 'Proposal');

const ajv = new Ajv();
const schemas = { Header: ajv.compile(TraceHeader), Proposal: ajv.compile(TraceProposal), Candidate: ajv.compile(TraceCandidate) };

/** Returns the trace of a log, each line of which matches the format. */
function linesOf(records: readonly AuditRecord[]): readonly TraceLine[] {
  const lines = traceOf(records, 'Chain');
  for (const line of lines) expect(schemas[line.type](line), JSON.stringify(schemas[line.type].errors)).toBe(true);
  return lines;
}

test('the trace of a search has every edit that was tried, and those that the work went on from', async () => {
  await using loop = await LoopBed.open();
  await using sandbox = await LocalSandbox.open();
  const url = await loop.replay('Fix both.', [fourProposals]);
  const spec = { ...taskFor(twoBugs.files, twoBugs.command, 'Fix both.'), ...training } as Partial<AgentTaskSpec>;
  const outcome = await loop.run(loop.begin(sandbox, spec, { experts: [generalist(url)], verifier: null }));
  expect(outcome).toMatchObject({ result: 'Failed', reason: 'ProposalsExhausted' });
  const records: AuditRecord[] = [];
  for await (const record of sandbox.client.events()) records.push(record);
  const candidates = linesOf(records).filter((line): line is TraceCandidate => line.type === 'Candidate');
  const tried = candidates.map(({ result, accepted, edits = [] }) => [edits[0]?.['after'], result, accepted]);
  expect(tried).toEqual([
    ['result = 1', 'Worse', false],
    ['+=', 'Better', true],
    ['scores[-1]', 'Equal', false],
    ['>', 'Better', true],
  ]);
});

describe('the trace of an attempt', () => {
  let bed: AgentBed;
  eachBed(async () => (bed = await AgentBed.open(binary)));

  async function records(): Promise<readonly AuditRecord[]> {
    const all: AuditRecord[] = [];
    for await (const record of bed.harness.client(bed.epoch).events()) all.push(record);
    return all;
  }

  /** Runs an attempt and compares each prompt of its trace with the request that was sent. */
  async function traced(
    spec: Partial<AgentTaskSpec>,
    script: Script,
    own: Partial<AttemptContext> = {},
    earlier: ScriptedModels['requests'] = [],
  ): Promise<readonly TraceLine[]> {
    const models = new ScriptedModels(script);
    await bed.engine.run(bed.begin(spec, models, own).context);
    const lines = linesOf(await records());
    const replies = (await bed.notes()).filter(({ kind }) => kind === 'ModelReplied').map(({ data }) => data);
    // An answer of no use has no proposal.
    const answered = replies.filter(({ proposals: made }) => (made as unknown[]).length > 0).map(({ request }) => request);
    const requests = [...earlier, ...models.requests].filter(({ requestId }) => answered.includes(requestId));
    const sent = requests.map(({ messages }) => messages);
    expect([...promptsOf(lines).values()]).toEqual(sent);
    const [header] = lines;
    const tools = models.requests[0]?.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
    expect(header?.type === 'Header' && header.tools).toEqual(tools);
    return lines;
  }

  test.each<readonly [name: string, what: (lines: readonly TraceLine[]) => unknown, is: unknown]>([
    ['repair', (lines) => [lines[0], lines.at(-1)], [{ outcome: { result: 'Succeeded' }, checks: [{ end: { newlyPassing: [expect.stringContaining('counts_every_piece') as string] } }], verified: expect.stringMatching(/^sha256:/) as string }, { submission: { accepted: true } }]],
    ['protected', (lines) => proposals(lines).flatMap(({ acts }) => acts).filter(({ outcome }) => outcome === 'Refused'), [{ tool: 'edit_file' }]],
    ['undo', (lines) => proposals(lines).map(({ undone }) => undone), expect.arrayContaining([true, false])],
    ['gives-up', (lines) => lines[0], { outcome: { result: 'Failed', class: 'Stuck' }, verified: null }],
  ])('of the recorded conversation %s has what was sent, done and refused', async (name, what, is) => {
    expect(what(await traced(specOf(name), await recorded(name)))).toMatchObject(is as object);
  }); // prettier-ignore

  test('has the sent messages also when the conversation grew too long and was replaced by summaries', async () => {
    const chat = { contextTokens: 8192, maxOutputTokens: 512, toolCalls: 'Native' } as const;
    const own = bed.begin({ ...specOf('repair') }, new ScriptedModels(steps('x'))).context.pool;
    const pool = { ...own, experts: own.experts.map((expert) => ({ ...expert, chat })) };
    const script: Script = (_, n) => (n > 14 ? 'I give up.' : { calls: [['bash', { command: `seq ${n}000 ${n}900` }]] });
    const lines = await traced(specOf('repair'), script, { pool });
    expect((await bed.notes()).some(({ kind }) => kind === 'ConversationCompacted')).toBe(true);
    const sizes = proposals(lines).map(({ prompt }) => JSON.stringify(prompt).length);
    const whole = [...promptsOf(lines).values()].map((messages) => JSON.stringify(messages).length);
    const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);
    expect(sum(sizes) * 2).toBeLessThan(sum(whole));
  });

  test('continues where a worker was lost and another one took over', async () => {
    const script = await recorded('undo');
    const models = new ScriptedModels((request, n) => {
      if (n === 3) run.abort('Lost');
      return script(request, n);
    });
    const run = bed.begin(specOf('undo'), models);
    await expect(bed.engine.run(run.context)).rejects.toBe('Lost');
    const lines = await traced(specOf('undo'), script, {}, models.requests);
    expect(proposals(lines).map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6].map((step) => `1.${step}.0`));
    expect(lines[0]).toMatchObject({ outcome: { result: 'Succeeded' } });
  });

  test('has the permitted use before all work', async () => {
    const none = specOf('repair');
    delete (none as { trace?: unknown }).trace;
    await bed.engine.run(bed.begin(none, new ScriptedModels(await recorded('repair'))).context);
    const [first] = await bed.notes();
    expect(first).toMatchObject({ kind: 'TaskBegan', data: { consent: 'None', pool: { name: 'coding' } } });
    expect(consentOf(await records())).toBe('None');
  });

  test('has the default of the pool where the task sets none, once', async () => {
    const { trace: _, ...spec } = specOf('repair') as Partial<AgentTaskSpec> & { trace?: unknown };
    const { pool } = bed.begin(spec, new ScriptedModels(steps('x'))).context;
    const script = await recorded('repair');
    await bed.engine.run(bed.begin(spec, new ScriptedModels(script), { pool: { ...pool, traceConsent: 'Internal' } }).context);
    await bed.engine.run(bed.begin(spec, new ScriptedModels(script), { pool: { ...pool, traceConsent: 'Training' } }, 2).context);
    expect(consentOf(await records())).toBe('Internal');
    expect((await bed.notes()).filter(({ kind }) => kind === 'TaskBegan')).toHaveLength(1);
  });
});
