import { describe, expect, it, test } from 'vitest';
import type { AuditRecord } from '../keeper/index.ts';
import { artifactPlace, Conversation, resultsPath, storedIdentity } from './index.ts';

const task = { namespace: 'demo', name: 'fix', uid: 'u-1' };

test.each([
  ['s3://agents/a/demo/fix/u-1/2/change.patch', { attempt: 2, name: 'change.patch' }],
  ['pvc://pool-artifacts/demo/fix/u-1/1/trace.ndjson', { attempt: 1, name: 'trace.ndjson' }],
  ['s3://agents/demo/fix/u-2/1/change.patch', undefined],
  ['s3://agents/other/fix/u-1/1/change.patch', undefined],
  ['s3://agents/demo/fix/u-1/../change.patch', undefined],
  ['s3://agents/demo/fix/u-1/0/change.patch', undefined],
  ['s3://agents/demo/fix/u-1/1/', undefined],
  ['', undefined],
])('the place of %s', (uri, place) => expect(artifactPlace(uri, task)).toEqual(place));

const before = '0b27485a-bb86-43e6-94ac-d467b3bf16ca';

test.each([
  ['no artifact', [], 'u-1'],
  ['its own', ['pvc://pool/demo/fix/u-1/1/trace.ndjson'], 'u-1'],
  ['those of the object that was backed up', [`pvc://pool/demo/fix/${before}/2/trace.ndjson`], before],
  ['those of another name', [`pvc://pool/demo/other/${before}/2/trace.ndjson`], 'u-1'],
  ['those of another namespace', [`s3://agents/other/fix/${before}/2/trace.ndjson`], 'u-1'],
  ['what is no uid', ['s3://agents/demo/fix/../2/trace.ndjson'], 'u-1'],
])('a task is stored under a uid, by %s', (_, addresses, uid) => expect(storedIdentity(task, addresses)).toEqual({ ...task, uid }));

test('names with slashes stay in their part of the path, and dots lead nowhere', () => {
  expect(resultsPath({ namespace: 'a/b', name: 'c' }, 'artifacts', 'x/../y')).toBe(
    '/apis/results.agentfleet.dev/v1alpha1/namespaces/a%2Fb/agenttasks/c/artifacts/x%2F..%2Fy',
  );
  for (const name of ['', '.', '..']) expect(() => resultsPath({ namespace: 'a', name: 'c' }, 'artifacts', name)).toThrow('is no name');
});

describe('a conversation', () => {
  const read = (...notes: readonly (readonly [kind: string, data: unknown])[]) => {
    const conversation = new Conversation();
    return notes.flatMap(([kind, data], at) => {
      const record = { seq: at + 1, at: '2026-01-01T00:00:00.000Z', type: 'Noted', body: { kind, data } } as unknown as AuditRecord;
      return conversation.read(record) ?? [];
    });
  };
  const usage = { input: 10, cachedInput: 4, output: 2, estimated: false };
  const reply = (text: string) => ({ text, calls: [{ id: 'c', name: 'bash', arguments: '{}' }], finish: 'Calls' });

  it('shows a reply once it was chosen, with what all proposals of its step cost', () => {
    const entries = read(
      ['ModelAsked', { step: 1 }],
      ['ModelReplied', { step: 1, proposals: [reply('a')], charged: { usage, costMicros: 3 } }],
      ['ModelReplied', { step: 1, proposals: [reply('b')], charged: { usage, costMicros: 4 } }],
      ['ReplyChosen', { step: 1, index: 1 }],
      ['CallObserved', { step: 1, index: 0, callId: 'c', tool: 'bash', text: 'no', ok: false, refused: 'paths' }],
    );
    expect(entries).toMatchObject([
      { seq: 4, type: 'Assistant', text: 'b', proposals: 2, usage: { input: 20, output: 4 }, costMicros: 7 },
      { seq: 5, type: 'Observation', refused: 'paths', ok: false },
    ]);
  });

  it('has the commands of a program, which the end of its command names', () => {
    const commands = [{ pid: 2, parent: 1, atMs: 5, argv: ['ls'] }];
    const end = (body: object) => ({ seq: 7, at: '', type: 'ExecEnded', body }) as unknown as AuditRecord;
    expect(new Conversation().read(end({ execId: 'e', commands }))).toEqual({
      seq: 7,
      at: '',
      type: 'Note',
      kind: 'ProgramCommands',
      data: { commands, moreCommands: 0 },
    });
    for (const body of [{}, { commands: [] }, { commands: 'x' }]) expect(new Conversation().read(end(body))).toBeUndefined();
  });

  it('survives notes of any form, and passes on those that it does not know', () => {
    const hostile = ['ConversationBegan', 'ModelReplied', 'ReplyChosen', 'CallObserved', 'NoticeGiven', 'Approved', 'New'];
    for (const data of [null, 'x', [], 7, { step: {}, proposals: 3, tools: 'x', usage: [] }])
      expect(() => read(...hostile.map((kind) => [kind, data] as const))).not.toThrow();
    expect(read(['New', { a: 1 }])).toMatchObject([{ type: 'Note', kind: 'New', data: { a: 1 } }]);
  });
});
