import { beforeEach, describe, expect, test } from 'vitest';
import { Bed, look } from './testing/bed.ts';

describe('turns', () => {
  let bed: Bed;
  /** Members that are there, the first one awake, the others asleep; and the time to settle is over. */
  const settled = (...names: readonly string[]): void => {
    names.forEach((name, index) => bed.is.set(name, look(index === 0 ? 'Awake' : 'Asleep')));
    for (let beat = 0; beat < 4; beat += 1) {
      for (const name of names) bed.greet(name);
      bed.pass(2_000);
    }
    // The first one was proved.
    bed.ask(names[0] ?? '', 'proof of the first');
    bed.step();
    bed.turns.end('proof of the first');
  };
  beforeEach(() => {
    bed = new Bed();
  });

  test('are not given before all have had the time to come', () => {
    bed.is.set('a', look('Awake'));
    bed.greet('a');
    bed.ask('a', '1');
    bed.pass(4_900);
    expect(bed.state('1')).toBe('Waiting');
    bed.pass(200);
    expect(bed.state('1')).toBe('Granted');
  });

  test('last while nobody else waits, and uses of one engine share them', () => {
    settled('a', 'b');
    bed.ask('a', '1');
    bed.pass(120_000 / 20);
    bed.ask('a', '2');
    bed.step();
    expect([bed.state('1'), bed.state('2'), bed.told]).toEqual(['Granted', 'Granted', []]);
  });

  test('end when they are idle and somebody waits, and never under a use', () => {
    settled('a', 'b');
    bed.ask('a', '1');
    bed.step();
    bed.ask('b', '2');
    bed.pass(5_000);
    expect([bed.state('2'), bed.told]).toEqual(['Waiting', []]);
    bed.turns.end('1');
    bed.pass(300);
    expect([bed.state('2'), bed.told]).toEqual(['Granted', ['Sleep a', 'Wake b']]);
  });

  test('take nothing new after their time when somebody waits, and those under way end', () => {
    settled('a', 'b');
    bed.ask('a', '1');
    bed.ask('b', '2');
    bed.pass(20_000);
    bed.ask('a', '3');
    bed.pass(1_000);
    expect(bed.state('3')).toBe('Granted');
    bed.pass(10_000);
    bed.ask('a', '4');
    bed.pass(1_000);
    expect([bed.state('4'), bed.told]).toEqual(['Waiting', []]);
    bed.turns.end('1');
    bed.turns.end('3');
    bed.pass(500);
    expect([bed.state('2'), bed.state('4')]).toEqual(['Granted', 'Waiting']);
    bed.turns.end('2');
    bed.pass(500);
    expect(bed.state('4')).toBe('Granted');
  });

  test('go round: who had one waits for all who waited before', () => {
    settled('a', 'b', 'c');
    for (const name of ['a', 'b', 'c']) for (let index = 0; index < 3; index += 1) bed.ask(name, `${name}${index}`);
    for (let round = 0; round < 12; round += 1) {
      bed.pass(31_000);
      for (const [id, states] of bed.states) if (states.at(-1) === 'Granted') bed.turns.end(id);
      for (const name of ['a', 'b', 'c']) bed.ask(name, `${name}-${round}`);
    }
    const wakes = bed.told.filter((word) => word.startsWith('Wake'));
    expect(wakes.length).toBeGreaterThan(9);
    wakes.forEach((word, index) =>
      expect(new Set(wakes.slice(index, index + 3)).size, `${word} of ${wakes.join()}`).toBe(Math.min(3, wakes.length - index)),
    );
  });

  test('begin with a load when no other engine is awake, and are kept for its proof', () => {
    settled('a');
    bed.ask('b', 'load', { purpose: 'Load' });
    bed.pass(500);
    expect([bed.state('load'), bed.told]).toEqual(['Granted', ['Sleep a']]);
    bed.is.set('b', look('Refused'));
    bed.ask('a', '1');
    bed.pass(60_000);
    expect(bed.state('1')).toBe('Waiting');
    bed.is.set('b', look('Awake'));
    bed.pass(20_000);
    expect(bed.state('1')).toBe('Waiting');
    bed.greet('b');
    bed.ask('b', 'proof');
    bed.step();
    expect(bed.state('proof')).toBe('Granted');
    bed.turns.end('proof');
    bed.greet('a');
    bed.pass(500);
    expect(bed.state('1')).toBe('Granted');
  });

  test('are given to others when an engine does not come up in its time, and to it again after as long', () => {
    settled('a');
    bed.ask('b', 'load', { purpose: 'Load' });
    bed.is.set('b', look('Refused'));
    const wait = (millis: number): void => {
      for (let left = millis; left > 0; left -= 2_000) {
        bed.greet('a');
        bed.pass(2_000);
      }
    };
    wait(2_000);
    bed.ask('a', '1');
    wait(1_700_000);
    expect(bed.state('1')).toBe('Waiting');
    wait(110_000);
    expect(bed.state('1')).toBe('Granted');
    expect(bed.turns.views().find(({ item }) => item === 'b')).toMatchObject({
      state: 'Absent',
      fault: expect.stringContaining('did not come up within 1800 s') as unknown,
    });
    bed.is.set('b', look('Awake'));
    bed.turns.end('1');
    wait(4_000);
    expect(bed.turns.views().filter(({ state }) => state === 'Awake')).toHaveLength(1);
  });

  test('are made room for when an engine starts anew by itself: it is counted, the others sleep', () => {
    settled('a', 'b');
    bed.ask('a', '1');
    bed.is.set('b', look('Refused'));
    bed.pass(1_500);
    expect(bed.told).toEqual([]);
    bed.turns.end('1');
    bed.ask('a', '2');
    bed.pass(1_500);
    expect([bed.told, bed.state('2')]).toEqual([['Sleep a'], 'Waiting']);
    const before = bed.greet('b').load;
    bed.is.set('b', look('Awake'));
    bed.pass(1_500);
    expect(bed.greet('b').load).not.toBe(before);
    // Its server is there, and proves it in a later turn.
    expect(bed.state('2')).toBe('Granted');
  });

  test('put one to sleep that woke by itself', () => {
    settled('a', 'b');
    bed.ask('a', '1');
    bed.is.set('b', look('Awake'));
    bed.pass(1_500);
    expect([bed.told, bed.state('1')]).toEqual([['Sleep b'], 'Granted']);
  });

  test('stay with an engine that fails and does not sleep, and say so', () => {
    settled('a', 'b');
    bed.ask('b', '1');
    bed.is.set('a', look('Failing', 'answered with 500'));
    bed.pass(9_000);
    expect(bed.state('1')).toBe('Waiting');
    expect(bed.told.filter((word) => word !== 'Sleep a')).toEqual([]);
    expect(bed.turns.views()[0]).toMatchObject({ state: 'Awake', fault: 'it did not sleep: answered with 500' });
  });

  test('are given to nobody while one may have woken by halves, until it tells how it is', () => {
    settled('a', 'b', 'c');
    bed.wakesTo.set('b', look('Failing', 'EngineDeadError'));
    bed.ask('b', '1');
    bed.pass(500);
    bed.ask('c', '2');
    bed.pass(8_000);
    expect([bed.state('2'), bed.told]).toEqual(['Waiting', ['Sleep a', 'Wake b']]);
    expect(bed.turns.views()[1]).toMatchObject({ state: 'Unknown', fault: 'it did not wake: EngineDeadError' });
    bed.is.set('b', look('Asleep'));
    bed.pass(1_500);
    expect(bed.state('2')).toBe('Granted');
  });

  test('that an engine does not wake for are lost: it waits behind the others again', () => {
    settled('a', 'b', 'c', 'd');
    bed.wakesTo.set('b', look('Asleep'));
    ['b', 'c', 'd'].forEach((name) => {
      bed.ask(name, name);
      bed.step();
    });
    bed.pass(6_000);
    bed.turns.end('c');
    bed.pass(500);
    expect(bed.told.filter((word) => word.startsWith('Wake'))).toEqual(['Wake b', 'Wake c', 'Wake d']);
  });

  test('are lost with a pod: what cannot be reached for 10 s holds nothing, one that said it ends sooner if it sleeps', () => {
    settled('a', 'b', 'c');
    bed.ask('b', '1');
    bed.is.set('a', look('NoRoute'));
    bed.turns.leave('a-0');
    bed.is.set('c', look('NoRoute'));
    bed.turns.leave('c-0');
    for (let beat = 0; beat < 4; beat += 1) {
      bed.greet('b');
      bed.pass(2_000);
    }
    expect(bed.turns.views().map(({ item }) => item)).toEqual(['a', 'b']);
    expect(bed.state('1')).toBe('Waiting');
    bed.greet('b');
    bed.pass(4_000);
    expect([bed.turns.views().map(({ item }) => item), bed.state('1')]).toEqual([['b'], 'Granted']);
  });

  test('outlive a connection that breaks for a moment, and the turnstile itself', () => {
    settled('a', 'b');
    const first = bed.ask('a', '1');
    bed.step();
    bed.ask('b', '2');
    bed.turns.broken('1', first);
    bed.pass(2_900);
    expect(bed.told).toEqual([]);
    const second = bed.ask('a', '1', { held: true });
    bed.turns.broken('1', first);
    bed.pass(5_000);
    expect([bed.state('1'), bed.told]).toEqual(['Granted', []]);
    const memory = bed.greet('a');
    bed.turns = bed.open('second');
    bed.ask('a', '1', { held: true, memory });
    bed.ask('b', '2', { memory });
    for (let beat = 0; beat < 5; beat += 1) {
      bed.greet('a', memory, memory.load);
      bed.pass(2_000);
    }
    expect([bed.state('1'), bed.state('2'), bed.told]).toEqual(['Granted', 'Waiting', []]);
    // It was seen before: it need not be proved again.
    expect(bed.greet('a').load).toBe(memory.load);
    bed.turns.broken('1', second);
    bed.turns.end('1');
    bed.pass(500);
    expect(bed.state('2')).toBe('Granted');
  });

  test('are not given by a new turnstile while one loads that only others tell of', () => {
    settled('a');
    bed.ask('b', 'load', { purpose: 'Load' });
    bed.is.set('b', look('Refused'));
    bed.pass(500);
    expect(bed.state('load')).toBe('Granted');
    const memory = bed.greet('a');
    bed.turns = bed.open('second');
    bed.ask('a', '1', { memory });
    for (let beat = 0; beat < 20; beat += 1) {
      bed.greet('a', memory);
      bed.pass(2_000);
    }
    expect([bed.state('1'), bed.turns.views().find(({ item }) => item === 'b')?.state]).toEqual(['Waiting', 'Loading']);
  });
});
