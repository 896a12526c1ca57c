import type { AgentTaskSpec, Approval } from '@agentfleet/protocol/api';
import { expect, test, vi } from 'vitest';
import type { AttemptContext, Report } from '../../agent-image/src/attempt/index.ts';
import { AgentBed, eachBed, runnerOfTests, ScriptedModels, steps, type Script } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { twoBugs } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** Goals whose checks hold already, or that no command judges: the whole attempt on a real keeper, with a scripted model. */
const { binary, describe } = await runnerOfTests();
const files = { 'greet.py': "print('hello')\n" };
const green = { name: 'runs', command: ['python3', '-c', 'import greet'] };
const review = { name: 'owner', type: 'Review' };
const goal = (checks: readonly object[], more: object = {}): Partial<AgentTaskSpec> =>
  ({ ...taskFor(files, [...green.command]), checks, ...more }) as unknown as Partial<AgentTaskSpec>;

const edit = ['edit_file', { path: 'greet.py', old_text: 'hello', new_text: 'good morning' }] as const;
const better = ['edit_file', { path: 'greet.py', old_text: 'good morning', new_text: 'good evening' }] as const;
const submit = (answer: string): readonly [string, object] => ['submit', { answer }];

describe('a goal', () => {
  let bed: AgentBed;
  eachBed(async () => (bed = await AgentBed.open(binary)));

  /** Runs an attempt; people answer each review with the next item of the list. */
  async function play(spec: Partial<AgentTaskSpec>, script: Script, ...says: readonly Partial<Approval>[]) {
    const approvals: Approval[] = [];
    const asked: NonNullable<Report['pendingApproval']>[] = [];
    let reported: Report = {};
    const models = new ScriptedModels(script);
    const own: Partial<AttemptContext> = {
      approvals: () => approvals,
      taskChanged: () => new Promise((resolve) => void setImmediate(resolve)),
      report(change) {
        reported = { ...reported, ...change };
        const { pendingApproval } = change;
        if (pendingApproval === undefined) return;
        asked.push(pendingApproval);
        const said = says[asked.length - 1] ?? {};
        approvals.push({ action: pendingApproval.action, decision: 'Approved', orderRef: { name: 'yes' }, requester: 'ann', at: '2030-01-01T00:00:00Z', ...said });
      },
    }; // prettier-ignore
    const outcome = await bed.engine.run(bed.begin(spec, models, own).context);
    return { outcome, asked, models, reported: () => reported };
  }

  test('whose checks hold already is worked on, and an unjudged result is offered', async () => {
    const { outcome, reported } = await play(goal([green]), steps({ calls: [edit] }, { calls: [submit('It greets.')] }));
    expect(outcome).toMatchObject({ result: 'Failed', class: 'Unproved', reason: 'NothingProved' });
    expect(reported().patch).toContain('+print(\'good morning\')'); // prettier-ignore
    expect(reported().artifacts?.map(({ name }) => name)).toEqual(expect.arrayContaining(['change.patch', 'answer.md']));
    expect(reported().answer).toBe('It greets.');
    expect(reported().plan?.find(({ id }) => id === 'baseline')?.intent).toBe(
      'checks at snapshot 0: all hold, and none is a review: this ends as NothingProved',
    );
  });

  test('with a review returns to the model with the text of the person, until it is accepted', async () => {
    const script = steps({ calls: [edit] }, { calls: [submit('Done.')] }, { calls: [better] }, { calls: [submit('Evening now.')] });
    const { outcome, asked, models } = await play(goal([green, review]), script, { decision: 'Rejected', reason: 'say good evening' });
    expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'ReviewAccepted' });
    expect(asked.map(({ kind }) => kind)).toEqual(['Review', 'Review']);
    expect(asked[0]?.summary).toMatch(/check owner.*1 path changed: greet\.py/);
    expect(asked[1]?.evidence).toContain('good evening');
    expect(new Set(asked.map(({ action }) => action)).size).toBe(2);
    expect(models.requests[2]?.messages.map(({ text }) => text).join('\n')).toMatch(/refused.*by order yes of ann: say good evening/s);
    expect(outcome.checks?.map(({ name, passed }) => [name, passed])).toEqual([['runs', 1], ['owner', 1]]); // prettier-ignore
  });

  test('that nothing changes is no matter for a person', async () => {
    const { outcome, asked } = await play(goal([green, review]), steps({ calls: [submit('Nothing to do.')] }));
    expect([outcome.reason, asked]).toEqual(['NothingProved', []]);
  });

  test('that asks for an answer ends with it', async () => {
    const checks = [green, { name: 'answer', type: 'Artifact', path: 'answer.md', contains: ['port'] }];
    const { outcome, reported, models } = await play(goal(checks), steps({ calls: [submit('It is the host.')] }, { calls: [submit('The port was taken.')] }));
    expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'AnswerAccepted' });
    expect(models.requests[1]?.messages.map(({ text }) => text).join('\n')).toMatch(/answer\.md does not contain "port"/);
    expect(reported().answer).toBe('The port was taken.');
    expect(reported().patch).toContain('+The port was taken.');
  }); // prettier-ignore

  test('that asks for a file of some form has it', async () => {
    const jsonSchema = JSON.stringify({ type: 'object', required: ['total'], properties: { total: { type: 'integer' } } });
    const checks = [green, { name: 'report', type: 'Artifact', path: 'out/report.json', jsonSchema }];
    const write = (text: string): readonly [string, object] => ['bash', { command: `mkdir -p out && printf '%s' '${text}' > out/report.json` }];
    const script = steps({ calls: [write('{"total": "3"}')] }, { calls: [submit('Done.')] }, { calls: [write('{"total": 3}')] }, { calls: [submit('Done.')] });
    const { outcome, models } = await play(goal(checks), script);
    expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    expect(models.requests[2]?.messages.map(({ text }) => text).join('\n')).toMatch(/\/total must be integer/);
  }); // prettier-ignore

  test('beside which other tests fail already is reached where these may go on failing, and where none gets worse', async () => {
    const unit = { name: 'unit', command: [...twoBugs.command], expect: 'NoRegression' };
    const sums = { name: 'sums', command: ['python3', '-c', 'from total import total; assert total([2]) == 2'] };
    const change = (to: string): readonly [string, object] => ['edit_file', { path: 'total.py', old_text: 'result -= price', new_text: to }];
    const again: readonly [string, object] = ['edit_file', { path: 'total.py', old_text: 'result = price', new_text: 'result += price' }];
    const breaking: readonly [string, object] = ['edit_file', { path: 'total.py', old_text: 'result = 0', new_text: 'result = None' }];
    const mended: readonly [string, object] = ['edit_file', { path: 'total.py', old_text: 'result = None', new_text: 'result = 0' }];
    const script = steps({ calls: [change('result = price'), breaking, submit('Done.')] }, { calls: [mended, again, ['run_checks', {}], submit('Done.')] });
    const { outcome, models } = await play({ ...taskFor(twoBugs.files, unit.command), checks: [unit, sums] } as unknown as Partial<AgentTaskSpec>, script);
    expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    const said = models.requests.flatMap(({ messages }) => messages.map(({ text }) => text)).join('\n');
    expect(said).toMatch(/- unit: python3 -m unittest -v; what failed before any change may fail/);
    expect(said).toMatch(/test_none passed at the baseline and fails now/);
    expect(outcome.checks?.map(({ name, failed }) => [name, failed])).toEqual([['unit', 1], ['sums', 0]]); // prettier-ignore
  }); // prettier-ignore

  test('that is reached already ends at once where the task demands it', async () => {
    const { outcome, models } = await play(goal([green], { whenAlreadyTrue: 'Succeed' }), steps());
    expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'AlreadyHolds' });
    expect(models.requests).toEqual([]);
  });

  test('with a schema that is none is refused before anything is spent', async () => {
    const { outcome, models } = await play(goal([{ name: 'a', type: 'Artifact', path: 'a.json', jsonSchema: '{"type": 1}' }]), steps());
    expect(outcome).toMatchObject({ class: 'InvalidInput', reason: 'SchemaInvalid' });
    expect(models.requests).toEqual([]);
  });
});
