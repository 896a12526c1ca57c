import { effectNotes } from '@agentfleet/protocol/keeper';
import { expect, test } from 'vitest';
import { externalEffects } from './durable/snapshots.ts';

type Entry = readonly [type: string, body: object];

const noted = (kind: string, data: object): Entry => ['Noted', { kind, data }];
const planned = (id: string): Entry =>
  noted(effectNotes.planned, { id, command: `do ${id}`, target: id, kind: 'Other', attempt: 1, approved: true });
const ended = (id: string, outcome: string, undo: object | null = null, why = ''): Entry =>
  noted(effectNotes.ended, { id, outcome, undo, why });
const taken = (id: string): Entry => ['SnapshotTaken', { id }];

function reported(entries: readonly Entry[], from: string, to: string) {
  const lines = entries.map(([type, body], at) => Buffer.from(`${JSON.stringify({ seq: at + 1, type, body })}\n`));
  return externalEffects(
    {
      read: async function* () {
        yield* lines;
      },
    },
    from,
    to,
  );
}

const log: readonly Entry[] = [
  planned('early'),
  taken('s0001'),
  planned('pushed'),
  ended('pushed', 'Done', { command: 'git push back', proof: { command: 'p', expected: '' } }),
  planned('nothing'),
  ended('nothing', 'None'),
  planned('posted'),
  ended('posted', 'Failed', null, 'nothing is known'),
  taken('s0002'),
  planned('cut'),
  noted('Tried', { id: 'cut' }),
  noted(effectNotes.undone, { id: 'posted', undone: false, why: 'refused' }),
  noted(effectNotes.undone, { id: 'pushed', undone: true, why: '' }),
];

test('effects between two snapshots are listed with their state and compensation', async () => {
  expect(await reported(log, 's0001', 's0002')).toEqual([
    { command: 'do pushed', target: 'pushed', state: 'Undone', undo: 'git push back', why: '' },
    { command: 'do posted', target: 'posted', state: 'Failed', undo: null, why: 'nothing is known' },
  ]);
});

test('up to the current tree, an effect whose end was not observed is reported as unknown', async () => {
  const all = await reported(log, 's0001', 'current');
  expect(all.map(({ target }) => target)).toEqual(['pushed', 'posted', 'cut']);
  expect(all.at(-1)).toMatchObject({ state: 'Unknown', undo: null, why: 'nobody saw its end' });
  expect(await reported(log, 's0009', 'current')).toEqual([]);
});
