import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventLog } from '@agentfleet/keeper/log';
import { systemClock } from '@agentfleet/kube';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { promptsOf, type TraceLine } from '@agentfleet/protocol/trace';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

const clock = { now: () => Date.UTC(2030, 0, 1), monotonic: () => 0, sleep: () => Promise.resolve(), after: () => () => undefined };
const nowhere = { env: { KUBECONFIG: '/nowhere' } };
const charged = { usage: { input: 10, cachedInput: 0, output: 3, estimated: false }, costMicros: null };
const call = { id: 'c', name: 'bash', arguments: '{}' };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleet-trace-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The log of a task with one step, as a keeper and a worker write it. */
async function logOf(name: string, consent: string | undefined): Promise<string> {
  const file = join(folder, `${name}.ndjson`);
  const { log } = await EventLog.open({ file, clock, epoch: () => 1 });
  const begun = {
    consent,
    task: { namespace: 'team', name, uid: 'u' },
    pool: { namespace: 'p', name: 'coding' },
    goal: 'g',
    checks: [],
    models: [],
  };
  const notes: readonly (readonly [string, object])[] = [
    ...(consent === undefined ? [] : [['TaskBegan', begun] as const]),
    ['ConversationBegan', { id: '1', system: 's', goal: 'g', expert: 'gen', tree: { id: 's0', digest: 'd' } }],
    ['ModelReplied', { step: 1, request: 'r', proposals: [{ text: 't', calls: [call], finish: 'Calls', entropyNats: null }], charged }],
    ['ReplyChosen', { step: 1, index: 0, at: 0, signals: {} }],
    ['CallObserved', { step: 1, index: 0, callId: 'c', callKey: 'k', tool: 'bash', text: 'out', ok: true }],
    ['Outcome', { attempt: 1, result: 'Failed', reason: 'Stuck' }],
  ];
  log.append('KeeperStarted', { version: '1.2' });
  for (const [kind, data] of notes) log.append('Noted', { kind, data: { attempt: 1, ...data } });
  await log.close();
  return file;
}

async function addTask(api: ApiServer, name: string, file: string, finished = 'true'): Promise<void> {
  const content = await readFile(file);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const { hash } = JSON.parse(content.toString('utf8').trim().split('\n').at(-1) ?? '') as AuditRecord;
  const artifacts = [{ name: 'trace.ndjson', uri: `s3://agents/${name}.ndjson`, sha256, bytes: content.length }];
  api.addTask(name, { status: { finished, run: { auditRoot: hash, artifacts } } });
}

const linesOf = (out: string): readonly TraceLine[] => out.trim().split('\n').map((line) => JSON.parse(line) as TraceLine); // prettier-ignore

test.each<readonly [what: string, consent: string | undefined, args: readonly string[], refusal: RegExp | null]>([
  ['training, with it', 'Training', [], null],
  ['reading, with consent to training', 'Training', ['--consent', 'Internal'], null],
  ['reading, with it', 'Internal', ['--consent', 'Internal'], null],
  [
    'training, with consent to reading',
    'Internal',
    [],
    /has the trace consent Internal, and Training is asked for: .* spec\.trace\.consent/,
  ],
  [
    'training, without consent',
    'None',
    [],
    /has the trace consent None, .* spec\.trace\.consent of the task, default spec\.policy\.traceConsent/,
  ],
  ['reading, without consent', 'None', ['--consent', 'Internal'], /consent None/],
  ['anything, of a log that does not say', undefined, ['--consent', 'Internal'], /consent None/],
  ['nothing, which is no use', 'Training', ['--consent', 'None'], /Allowed choices are Internal, Training/],
])('exports for %s', async (_, consent, args, refusal) => {
  await using api = await ApiServer.start();
  const file = await logOf('one', consent);
  await addTask(api, 'one', file);
  for (const run of [fleet(api, ['trace', 'one', '--file', file, ...args]), fleet(api, ['trace', file, ...args], nowhere)]) {
    const { code, out, err } = await run;
    expect([code, out === '']).toEqual(refusal === null ? [0, false] : [1, true]);
    expect(err).toMatch(refusal ?? /^$/);
  }
});

test('writes the same lines each time, and reports how the log was checked', async () => {
  await using api = await ApiServer.start();
  const file = await logOf('one', 'Training');
  await addTask(api, 'one', file);
  const ofTask = await fleet(api, ['trace', 'one', '--file', file]);
  const ofFile = await fleet(api, ['trace', file], nowhere);
  expect(linesOf(ofTask.out)).toMatchObject([
    {
      type: 'Header',
      task: { name: 'one' },
      versions: { keeper: '1.2' },
      outcome: { reason: 'Stuck' },
      log: { checked: 'Head', records: 7 },
    },
    { type: 'Proposal', id: '1.1.0', chosen: true, acts: [{ observation: 'out' }] },
  ]);
  expect(ofFile.out.replace('"Chain"', '"Head"')).toBe(ofTask.out);
  expect(promptsOf(linesOf(ofTask.out)).get('1.1.0')).toEqual([
    { role: 'System', text: 's' },
    { role: 'User', origin: 'Goal', text: 'g' },
  ]);
  const two = await fleet(api, ['trace', file, await logOf('two', 'Training')], nowhere);
  expect(linesOf(two.out).map(({ type }) => type)).toEqual(['Header', 'Proposal', 'Header', 'Proposal']);
  const to = join(folder, 'out.jsonl');
  expect(await fleet(api, ['trace', 'one', '--file', file, '-o', to])).toMatchObject({
    code: 0,
    out: '',
    err: `fleet: 2 lines in ${to}\n`,
  });
  expect(await readFile(to, 'utf8')).toBe(ofTask.out);
});

test('exports nothing of a log that was changed', async () => {
  await using api = await ApiServer.start();
  const file = await logOf('one', 'None');
  await addTask(api, 'one', file);
  await writeFile(file, (await readFile(file, 'utf8')).replace('"consent":"None"', '"consent":"Training"'));
  for (const args of [[file], ['one', '--file', file]]) {
    const { code, out, err } = await fleet(api, ['trace', ...args], args.length === 1 ? nowhere : {});
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('does not hold, and nothing is exported');
  }
});

test('takes all tasks that have ended and whose consent covers it, by name', async () => {
  await using api = await ApiServer.start();
  const files = new Map<string, Buffer>();
  for (const [name, consent, finished] of [['b', 'Training', 'true'], ['a', 'Training', 'true'], ['no', 'None', 'true'], ['runs', 'Training', 'false']] as const) {
    const file = await logOf(name, consent);
    await addTask(api, name, file, finished);
    files.set(`/agents/${name}.ndjson`, await readFile(file));
  } // prettier-ignore
  const store = createServer((request, response) => response.writeHead(200).end(files.get(request.url ?? '')));
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
  const { code, out, err } = await fleet(api, ['trace', '--all', '--endpoint', endpoint], { clock: systemClock });
  expect([code, err]).toEqual([0, 'fleet: left out: AgentTask no has the trace consent None, and Training is asked for\n']);
  expect(linesOf(out).map((line) => (line.type === 'Header' ? line.task.name : line.type))).toEqual(['a', 'Proposal', 'b', 'Proposal']);
  const both = await fleet(api, ['trace', 'a', 'no', '--endpoint', endpoint], { clock: systemClock });
  expect([both.code, both.out]).toEqual([1, '']);
  store.close();
  store.closeAllConnections();
});

test.each([[['trace']], [['trace', '--all', 'one']], [['trace', 'one', 'two', '--file', 'x']], [['trace', '--all', '--file', 'x']]])(
  '%j is refused',
  async (args) => {
    await using api = await ApiServer.start();
    expect(await fleet(api, args)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/name tasks, or give --all|name that one only/) as string,
    });
  },
);
