import type { AgentTask } from '@agentfleet/protocol/api';
import type { ConversationEntry } from '@agentfleet/protocol/results';
import { describe, expect, it } from 'vitest';
import type { Screen } from './commands/index.ts';
import { taskPicture } from './commands/screens.ts';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

const plain = { terminal: false, env: {} };
const task = {
  metadata: { name: 'one', namespace: 'team', creationTimestamp: '2030-01-01T00:00:00Z' },
  spec: { goal: 'Make it\u001b[2J work.', budget: { tokens: 1000, toolCalls: 10 } },
  status: {
    phase: 'Running',
    assignment: { attempt: 1 },
    run: {
      plan: [{ kind: 'Step', intent: 'edit a.py', state: 'Running' }],
      usage: { tokensIn: 400, tokensOut: 550, toolCalls: 1 },
    },
  },
} as unknown as AgentTask;
const said = (seq: number): ConversationEntry => ({
  seq,
  at: '2030-01-01T00:00:01.000Z',
  type: 'Observation',
  step: seq,
  callId: 'c',
  tool: 'bash',
  text: `line ${seq}\u001b]0;x\u0007`,
  ok: true,
});

describe('the screen of a task', () => {
  it('shows plan, budget and the end of the conversation, within the terminal and without its orders', () => {
    const entries = Array.from({ length: 100 }, (_, at) => said(at + 1));
    const lines = taskPicture({ task, entries, now: Date.parse('2030-01-01T00:01:00Z') }, { columns: 60, rows: 20 }, plain);
    const text = lines.join('\n');
    for (const wanted of ['team/one  60s', 'step running: edit a.py', '███████████████████░ 950 of 1000', '1 of 10', 'line 100'])
      expect(text).toContain(wanted);
    expect(text).not.toContain('\u001b');
    expect(text).not.toMatch(/line 50\b/);
    expect(lines.length).toBeLessThanOrEqual(20);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it('reports why there is no conversation', () => {
    expect(taskPicture({ task, entries: [], problem: 'no conversation: off', now: 0 }, { columns: 80, rows: 24 }, plain)).toContain(
      'no conversation: off',
    );
  });
});

describe('on a terminal', () => {
  it('watch draws until the task has ended, with its conversation; top lists what needs a person first', async () => {
    await using api = await ApiServer.start();
    api.addTask('one', { status: { phase: 'Running', finished: 'false' } });
    api.addTask('asks', { status: { phase: 'AwaitingApproval', finished: 'false' } });
    api.worker = ({ metadata }, looks) =>
      (metadata as { name: string }).name === 'one' && looks > 4 ? { phase: 'Succeeded', finished: 'true' } : undefined;
    api.results.set('/apis/results.agentfleet.dev/v1alpha1/namespaces/team/agenttasks/one/conversation', `${JSON.stringify(said(7))}\n`);
    const drawn: string[] = [];
    let isDone = false;
    const screen = (): Promise<Screen> =>
      Promise.resolve({ columns: 80, rows: 24, draw: (lines) => void drawn.push(lines.join('\n')), done: () => void (isDone = true) });
    expect(await fleet(api, ['watch', 'one'], { terminal: true, screen })).toMatchObject({ code: 0, err: '' });
    expect([drawn.length > 2, isDone]).toEqual([true, true]);
    expect(drawn.at(-1)).toContain('Succeeded');
    const { out, code } = await fleet(api, ['top']);
    expect(code).toBe(0);
    expect(out.indexOf('asks')).toBeLessThan(out.indexOf('one '));
  });

  it('watch shows on its picture that the cluster does not answer now, and goes on', async () => {
    await using api = await ApiServer.start();
    api.addTask('one', {});
    api.worker = (_, looks) => (looks > 3 ? { phase: 'Succeeded', finished: 'true' } : { phase: 'Running', finished: 'false' });
    let looks = 0;
    const message = 'etcdserver: leader changed';
    api.refuse = ({ path }) =>
      path.endsWith('/one') && ++looks === 3 ? { code: 500, body: { kind: 'Status', reason: 'InternalError', message } } : undefined;
    const drawn: string[] = [];
    const screen = (): Promise<Screen> =>
      Promise.resolve({ columns: 200, rows: 24, draw: (lines) => void drawn.push(lines.join('\n')), done: () => {} });
    expect(await fleet(api, ['watch', 'one'], { terminal: true, screen })).toMatchObject({ code: 0, err: '' });
    expect(drawn.filter((picture) => picture.includes(message))).toHaveLength(1);
    expect(drawn.at(-1)).toContain('Succeeded');
  });
});
