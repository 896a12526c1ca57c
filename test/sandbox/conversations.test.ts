import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { AttemptBed, type Run } from './attemptBed.ts';
import { ConversationBed } from './conversationBed.ts';
import { scenarios, type Scenario } from './conversations.ts';
import { useNamespace } from './harness.ts';

vi.setConfig({ testTimeout: process.env['AGENTFLEET_PLAY'] === undefined ? 240_000 : 3_600_000 });

/**
 * Conversations of a model with the loop in a real sandbox, played again: a prompt, a tool or an observation that
 * differs from the recording fails and names the message. `AGENTFLEET_PLAY=<base URL>` records them again.
 */
const bench = useNamespace('talks');
let bed: AttemptBed;
let talks: ConversationBed;
beforeAll(async () => {
  [bed, talks] = await Promise.all([AttemptBed.open(), ConversationBed.open()]);
});
afterAll(async () => {
  await talks[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

function specOf({ goal, files, checks, spec }: Scenario): Partial<AgentTaskSpec> {
  const inline = { files: Object.entries(files).map(([path, content]) => ({ path, content, mode: 0o644 })) };
  return { goal, workspace: { type: 'Inline', inline }, checks, ...spec } as unknown as Partial<AgentTaskSpec>;
}

/** Begins the attempt; people follow the scenario. */
function begin(sandbox: Sandbox, scenario: Scenario): Run {
  const { people = [], message } = scenario;
  let asked = 0;
  let steps = 0;
  const run: Run = bed.begin(sandbox, {
    spec: specOf(scenario),
    models: talks.models,
    pool: { experts: [talks.expert] },
    people: () => (message === undefined || steps < 3 ? [] : [{ id: 'order-1', text: message, by: 'ann' }]),
    onReport: ({ pendingApproval, progress }) => {
      if (progress?.message?.startsWith('step ') === true) steps += 1;
      if (pendingApproval === undefined) return;
      const says = people[asked] ?? 'Rejected';
      asked += 1;
      const how = typeof says === 'string' ? { decision: says } : { decision: 'Answered' as const, answer: says.answer };
      const rest = { orderRef: { name: `order-${asked}` }, requester: 'ann', at: '2031-04-02T11:00:00Z' };
      run.decide({ action: pendingApproval.action, ...how, ...rest });
    },
  });
  return run;
}

async function notesOf(sandbox: Sandbox): Promise<readonly { readonly kind: string; readonly data: { readonly tool?: string } }[]> {
  const notes: AuditRecord['body'][] = [];
  for await (const { type, body } of sandbox.clientWith({ epoch: 1 }).events()) if (type === 'Noted') notes.push(body);
  return notes as unknown as Awaited<ReturnType<typeof notesOf>>;
}

test.each(scenarios)('$name: $shows', async (scenario) => {
  const sandbox = await bench.open();
  const run = begin(sandbox, scenario);
  const outcome = await bed.engine.run(run.context);
  await talks.keep(scenario.name, scenario.shows, scenario.goal);
  expect(outcome, outcome.message).toMatchObject(scenario.ends);
  const used = new Set((await notesOf(sandbox)).filter(({ kind }) => kind === 'CallObserved').map(({ data }) => data.tool));
  expect([...used]).toEqual(expect.arrayContaining([...scenario.uses]));
  if (scenario.patch !== undefined) expect(run.reported.patch).toMatch(scenario.patch);
  if (scenario.answer !== undefined) expect(run.reported.answer).toMatch(scenario.answer);
  expect(run.reported.usage?.tokensIn).toBeGreaterThan(0);
});
