import type { ExpertPool, PoolSpending } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { newPool, newTask } from '../controllers/agenttask/testing/objects.ts';
import { bookOf, bookText, cappedBudget, emptyBook, excessMessage, excessOf, remainingOf, setAside, settle } from './spending.ts';
import type { Held, SpendingBook } from './spending.ts';

const now = Date.UTC(2030, 0, 2, 15);
const held = (uid: string, tokens: number, namespace = 'team', micros = 0): Held => ({
  uid,
  namespace,
  name: uid,
  attempt: 1,
  tokens,
  micros,
});
const since = Date.UTC(2030, 0, 2);
const caps = (change: Partial<PoolSpending>): PoolSpending => ({ windowSeconds: 86_400, ...change });
const bookWith = (spent: SpendingBook['spent'], ...running: readonly Held[]): SpendingBook => ({
  since,
  windowSeconds: 86_400,
  spent,
  held: running,
});
const spent = (tokens: number, micros = 0): SpendingBook['spent'][string] => ({ tokens, micros, estimated: 0 });

describe('an attempt begins only when the worst case fits', () => {
  const running = bookWith({ team: spent(50), other: spent(10) }, held('a', 20), held('b', 5, 'other'));
  test.each<readonly [string, SpendingBook, PoolSpending, Held, string | undefined, number]>([
    ['nothing is spent', emptyBook, caps({ tokens: 100 }), held('c', 100), undefined, now],
    ['it alone is more', emptyBook, caps({ tokens: 100 }), held('c', 101), 'tokens', now],
    ['spent and set aside and it fit exactly', running, caps({ tokens: 100 }), held('c', 15), undefined, now],
    ['one token more does not', running, caps({ tokens: 100 }), held('c', 16), 'tokens', now],
    ['the share of its namespace fits', running, caps({ perNamespace: { tokens: 90 } }), held('c', 20), undefined, now],
    [
      'that of its namespace does not',
      running,
      caps({ tokens: 1000, perNamespace: { tokens: 90 } }),
      held('c', 21),
      'perNamespace.tokens',
      now,
    ],
    ['another namespace has its own', running, caps({ perNamespace: { tokens: 90 } }), held('c', 75, 'other'), undefined, now],
    [
      'so has one that is called like a property of each object',
      running,
      caps({ perNamespace: { tokens: 90 } }),
      held('c', 91, 'constructor'),
      'perNamespace.tokens',
      now,
    ],
    ['what is set aside for it already counts once', running, caps({ tokens: 100 }), { ...held('a', 35), attempt: 2 }, undefined, now],
    ['money is capped alone', running, caps({ cost: '0.5' }), held('c', 1e9, 'team', 500_000), undefined, now],
    ['a millionth more', running, caps({ cost: '0.5' }), held('c', 0, 'team', 500_001), 'cost', now],
    ['the window of yesterday is over, what runs counts on', running, caps({ tokens: 100 }), held('c', 75), undefined, now + 86_400_000],
    ['and no more than that', running, caps({ tokens: 100 }), held('c', 76), 'tokens', now + 86_400_000],
    ['a clock that is set back begins no window', running, caps({ tokens: 100 }), held('c', 16), 'tokens', now - 3 * 86_400_000],
    ['a longer window keeps what was spent', running, caps({ tokens: 100, windowSeconds: 2 * 86_400 }), held('c', 16), 'tokens', now],
    ['a shorter one has begun since', running, caps({ tokens: 100, windowSeconds: 3600 }), held('c', 75), undefined, now],
  ])('%s', (_, book, spending, asked, field, at) => expect(excessOf(book, spending, asked, at)?.field).toBe(field));

  test('a refusal names the cap, what is spent, what runs, and the end of the window', () => {
    const excess = excessOf(running, caps({ perNamespace: { cost: '1.5' } }), held('c', 0, 'team', 1_500_001), now);
    const text = excess && excessMessage('platform/coding', excess, {});
    expect(text).toContain(
      'spec.limits.spending.perNamespace.cost of ExpertPool platform/coding is 1.5: in this window 0 in money are spent',
    );
    expect(text).toContain('this one may use 1.500001');
    expect(text).toContain('2030-01-03T00:00:00Z');
    expect(text).toContain('create the task again with a spec.budget.cost of its own');
    expect(excess && excessMessage('platform/coding', excess, { cost: '1.500001' })).not.toContain('of its own');
  });
});

describe('an attempt is charged once', () => {
  const running = bookWith({ team: spent(50) }, held('a', 20, 'team', 7), held('b', 5));
  const charge = { uid: 'a', attempt: 1, amount: { tokens: 3, micros: 2 } };

  test('what it used, and nothing is set aside for it then', () => {
    const after = settle(running, charge, now);
    expect(after).toEqual(bookWith({ team: spent(53, 2) }, held('b', 5)));
    expect(settle(after, charge, now)).toBe(after);
  });

  test('all that was set aside where usage is unknown, marked', () => {
    const after = settle(running, { ...charge, amount: null }, now);
    expect(after.spent).toEqual({ team: { tokens: 70, micros: 7, estimated: 1 } });
  });

  test('in a namespace that is called like a property of each object', () => {
    const after = settle(bookWith({}, held('a', 20, 'constructor')), charge, now);
    expect(after).toEqual(bookWith({ constructor: spent(3, 2) }));
    expect(bookOf(bookText(after))).toEqual(after);
  });

  test('not for another attempt, and nothing where nothing was used', () => {
    expect(settle(running, { ...charge, attempt: 2 }, now)).toBe(running);
    expect(settle(running, { ...charge, amount: { tokens: 0, micros: 0 } }, now)).toEqual(bookWith({ team: spent(50) }, held('b', 5)));
  });

  test('in the window of its end', () => {
    const tomorrow = now + 86_400_000;
    expect(settle(running, charge, tomorrow)).toMatchObject({ since: since + 86_400_000, spent: { team: spent(3, 2) } });
  });

  test('namespaces beyond a thousand share one entry', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`n${at}`, spent(1)]));
    let book = bookWith(many, held('a', 9, 'late'), held('b', 9, 'later'), held('c', 9, 'n7'));
    for (const uid of ['a', 'b', 'c']) book = settle(book, { uid, attempt: 1, amount: { tokens: 2, micros: 0 } }, now);
    expect([book.spent[''], book.spent['n7'], Object.keys(book.spent).length]).toEqual([spent(4), spent(3), 1001]);
    expect(excessOf(book, caps({ perNamespace: { tokens: 5 } }), held('d', 2, 'latest'), now)?.field).toBe('perNamespace.tokens');
  });
});

describe('the book', () => {
  test('comes back from its text, and is not read where it is damaged', () => {
    const book = setAside(emptyBook, caps({ tokens: 9 }), held('a', 5), now);
    expect(book && bookOf(bookText(book))).toEqual(book);
    const damaged = ['{', '[]', '{"since":0}', bookText(bookWith({ team: spent(-1) })), bookText(bookWith({}, { ...held('a', 0.5) }))];
    expect(damaged.map(bookOf)).toEqual(damaged.map(() => null));
    expect(bookOf(undefined)).toBe(emptyBook);
  });

  test('takes no more attempts than a ConfigMap holds', () => {
    const many = Array.from({ length: 7000 }, (_, at) => held(`${at}`.padStart(36, 'u'), 1));
    expect(setAside(bookWith({}, ...many), caps({ tokens: 1e9 }), held('a', 1), now)).toBeUndefined();
  });
});

describe('what an attempt may spend', () => {
  const pool = (spending: object): ExpertPool =>
    newPool({ policy: { maxBudget: { tokens: 100, cost: '2' } }, limits: { spending: { windowSeconds: 60, ...spending } } });
  const usage = {
    tokensIn: 10,
    tokensOut: 5,
    cost: '0.5',
    toolCalls: 0,
    cpuMillis: 0,
    wallSeconds: 0,
    candidates: 0,
    vetoes: 0,
    backtracks: 0,
  };
  test.each([
    ['nothing of a pool without caps', newPool(), {}, undefined, { tokens: 0, micros: 0 }],
    ['of what is capped only', pool({ tokens: 500 }), {}, { tokens: 100 }, { tokens: 85, micros: 0 }],
    [
      'its own budget before the pool’s',
      pool({ perNamespace: { cost: '9' } }),
      { budget: { cost: '1.5' } },
      { cost: '1.5' },
      { tokens: 0, micros: 1e6 },
    ],
    [
      'nothing when all is used',
      pool({ tokens: 500, cost: '9' }),
      { budget: { tokens: 12 } },
      { tokens: 12, cost: '2' },
      { tokens: 0, micros: 1.5e6 },
    ],
  ])('%s', (_, of, spec, budget, left) => {
    const task = newTask('one', spec);
    expect([cappedBudget(task, of), remainingOf(task, of, usage)]).toEqual([budget, left]);
  });
});
