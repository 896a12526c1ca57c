import { expect, test } from 'vitest';
import { OutputNotes, type OutputData } from './program.ts';

/** A clock that is set by hand, and the notes that were written by it. */
function bed() {
  const clock = { now: 0, monotonic: () => clock.now };
  const written: OutputData[] = [];
  let refusing = false;
  const notes = new OutputNotes(clock, (data) => {
    if (refusing) return Promise.reject(new Error('the keeper is away'));
    written.push(data);
    return Promise.resolve();
  });
  const look = async (seconds: number): Promise<void> => {
    clock.now += seconds * 1000;
    notes.look();
    await new Promise(setImmediate);
  };
  return { notes, written, look, refuse: (value: boolean): boolean => (refusing = value) };
}

test('whole lines are sent while the program runs, at most one note every 2 s; text without a newline as it is, the rest at the end', async () => {
  const { notes, written, look } = bed();
  notes.hear('one\ntw');
  await look(1);
  expect(written).toEqual([]);
  await look(1);
  notes.hear('o\n');
  await look(1);
  expect(written).toEqual([{ text: 'one\n' }]);
  await look(1);
  notes.hear('a question? ');
  await look(2);
  notes.hear('end');
  expect(written.slice(1)).toEqual([{ text: 'two\n' }, { text: 'a question? ' }]);
  expect(await notes.rest(0)).toEqual({ text: 'end' });
  expect(await notes.rest(0)).toBeNull();
  expect(await notes.rest(7)).toEqual({ text: '', dropped: 7 });
});

test('dropped output is counted: the end of a burst is kept, and a run that has printed much continues slowly', async () => {
  const { notes, written, look } = bed();
  let heard = 0;
  const print = (text: string): void => {
    heard += text.length;
    notes.hear(text);
  };
  for (let second = 0; second < 3600; second += 1) {
    print(`${'x'.repeat(9999)}\n`);
    await look(1);
  }
  const rest = await notes.rest(0);
  const all = [...written, ...(rest === null ? [] : [rest])];
  const kept = all.reduce((sum, { text }) => sum + text.length, 0);
  const omitted = all.reduce((sum, { omitted: more = 0 }) => sum + more, 0);
  expect(kept + omitted).toBe(heard);
  expect(kept).toBeGreaterThan(262_144);
  expect(kept).toBeLessThan(1_300_000);
  expect(Math.max(...all.map(({ text }) => text.length))).toBeLessThanOrEqual(16_384);
});

test('output that the keeper refused is in the next note', async () => {
  const { notes, written, look, refuse } = bed();
  refuse(true);
  notes.hear('one\n');
  await look(2);
  notes.hear('two\n');
  refuse(false);
  await look(2);
  expect(written).toEqual([{ text: 'one\ntwo\n' }]);
});
