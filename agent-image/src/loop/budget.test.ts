import { systemClock } from '@agentfleet/kube';
import { costInMicros, fromMicros, toMicros } from '@agentfleet/protocol/api';
import type { TokenUsage } from '@agentfleet/protocol/chat';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AttemptFailure } from '../base/failure.ts';
import { Meter } from '../attempt/meter.ts';
import type { Scope } from '../attempt/scope.ts';
import type { ChatExpert } from './conversation.ts';
import { budgetOf, TokenBudget, type Asked, type TokenBounds } from './budget.ts';
import { owedOf, readTranscript, spentBy } from './charges.ts';
import type { Charge } from './notes.ts';

const price = { input: '3', cachedInput: '0.30', output: '15.075' };
const engine = { expert: 'gen', price };
const nothing = { tokens: 0, costMicros: 0 };
const usage = (input: number, output: number, change: Partial<TokenUsage> = {}): TokenUsage => ({
  input,
  output,
  cachedInput: 0,
  estimated: false,
  ...change,
});
const asked = (change: Partial<Asked> = {}): Asked => ({ promptTokens: 1000, maxOutputTokens: 2000, n: 1, ...change });

const failureOf = (act: () => unknown): AttemptFailure => {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(AttemptFailure);
    return error as AttemptFailure;
  }
  return expect.unreachable();
};

describe('a reservation', () => {
  it('is the worst case: the prompt and the longest answer of each proposal', () => {
    const budget = new TokenBudget({ tokens: 100_000 }, engine, nothing);
    const { charge, maxOutputTokens } = budget.reserve(asked({ n: 3 }));
    expect(charge).toEqual({ usage: usage(3000, 6000, { estimated: true }), costMicros: costInMicros(price, usage(3000, 6000)) });
    expect(maxOutputTokens).toBe(2000);
    expect(budget.spent().tokens).toBe(9000);
    expect(budget.settle({ charge }, usage(1100, 50)).usage).toEqual(usage(1100, 50));
    expect(budget.spent()).toEqual({ tokens: 1150, costMicros: costInMicros(price, usage(1100, 50)) });
  });

  it.for<[string, TokenBounds, number]>([
    ['fits', { tokens: 3000 }, 2000],
    ['fits with a shorter answer', { tokens: 2600 }, 1600],
    ['just fits with the shortest', { tokens: 1512 }, 512],
    ['fits by money', { cost: '0.02' }, 1127],
    ['is bound by the tighter one', { tokens: 2600, cost: '0.02' }, 1127],
    ['has no bound', {}, 2000],
  ])('%s', ([, bounds, output]) => {
    expect(new TokenBudget(bounds, engine, nothing).reserve(asked()).maxOutputTokens).toBe(output);
  });

  it.for<[string, TokenBounds, string, readonly string[]]>([
    ['one token is missing', { tokens: 1511 }, 'TokensExceeded', ['0 tokens of 1511', 'spec.budget.tokens', '1512']],
    ['there are no tokens', { tokens: 0 }, 'TokensExceeded', ['of 0']],
    ['there is no money', { cost: '0' }, 'CostExceeded', ['0 in money of 0', 'spec.budget.cost']],
    ['money is short', { tokens: 9000, cost: '0.010' }, 'CostExceeded', ['of 0.010', '0.010719']],
  ])('is refused when %s', ([, bounds, reason, parts]) => {
    const failure = failureOf(() => new TokenBudget(bounds, engine, nothing).reserve(asked()));
    expect([failure.failureClass, failure.reason]).toEqual(['BudgetExceeded', reason]);
    for (const part of parts) expect(failure.message).toContain(part);
  });

  it('lets a free model work without money', () => {
    const free = { expert: 'gen', price: { input: '0', cachedInput: '0', output: '0' } };
    expect(new TokenBudget({ cost: '0' }, free, nothing).reserve(asked()).maxOutputTokens).toBe(2000);
  });

  it('counts what earlier attempts used, and refuses money without a price', () => {
    const failure = failureOf(() => new TokenBudget({ tokens: 5000 }, engine, { tokens: 4000, costMicros: 0 }).reserve(asked()));
    expect(failure.message).toContain('used 4000 tokens of 5000');
    const missing = failureOf(() => new TokenBudget({ cost: '1' }, { expert: 'gen' }, nothing));
    expect([missing.failureClass, missing.reason]).toEqual(['InvalidInput', 'PriceMissing']);
    expect(missing.message).toContain('expert gen');
    expect(new TokenBudget({ tokens: 5000 }, { expert: 'gen' }, nothing).reserve(asked()).charge.costMicros).toBeNull();
  });

  it('is charged whole when the reply has no usage', () => {
    const budget = new TokenBudget({ tokens: 9000 }, engine, nothing);
    const reservation = budget.reserve(asked());
    expect(budget.settle(reservation, null)).toEqual(reservation.charge);
    expect(budget.spent().tokens).toBe(3000);
  });
});

describe('a fallback', () => {
  const cheap = { input: '1', cachedInput: '1', output: '2' };
  const spare = (fallback: typeof price | undefined): TokenBudget =>
    new TokenBudget({ cost: '1' }, { ...engine, fallbacks: new Map([['spare', fallback]]) }, nothing);

  it.for([
    ['a cheaper one', cheap, price],
    ['a dearer one', { input: '9', cachedInput: '9', output: '99' }, { input: '9', cachedInput: '9', output: '99' }],
  ] as const)('is charged at its own price, and the dearer of both is reserved: %s', ([, own, reserved]) => {
    const budget = spare(own);
    const reservation = budget.reserve(asked());
    expect(reservation.charge.costMicros).toBe(costInMicros(reserved, usage(1000, 2000)));
    expect(budget.settle(reservation, usage(1000, 50), 'spare').costMicros).toBe(costInMicros(own, usage(1000, 50)));
    expect(budget.settle(reservation, usage(1000, 50)).costMicros).toBe(costInMicros(price, usage(1000, 50)));
  });

  it('without a price is refused where cost is bounded', () => {
    expect(failureOf(() => spare(undefined))).toMatchObject({
      reason: 'PriceMissing',
      message: expect.stringContaining('expert spare') as string,
    });
  });

  it('is found by the pool, and that of the fallback too', () => {
    const chat = (more: object): object => ({ contextTokens: 4096, maxOutputTokens: 512, toolCalls: 'Native', ...more });
    const experts = [
      { name: 'gen', chat: chat({ price: cheap, fallback: 'b' }) },
      { name: 'b', chat: chat({ price: cheap, fallback: 'c' }) },
      { name: 'c', chat: chat({ price, fallback: 'gen' }) },
    ];
    const scope = {
      context: { task: { spec: { budget: {} } }, pool: { maxBudget: {}, experts }, used: { earlier: { tokensIn: 0, tokensOut: 0 } } },
    };
    const budget = budgetOf(scope as unknown as Scope, experts[0] as unknown as ChatExpert, []);
    expect(budget.reserve(asked()).charge.costMicros).toBe(costInMicros(price, usage(1000, 2000)));
  });
});

describe('the notice', () => {
  it.for<[string, TokenBounds, number, string | null]>([
    ['is due at 80 % of the tokens', { tokens: 1000 }, 800, '800 of 1000 tokens'],
    ['is not due below', { tokens: 1000 }, 799, null],
    ['is due at 80 % of the money', { cost: '0.003' }, 800, '0.0024 of 0.003 in money'],
    ['needs a bound', {}, 1e9, null],
  ])('%s', ([, bounds, input, text]) => {
    const budget = new TokenBudget(bounds, engine, nothing, [{ usage: usage(input, 0), costMicros: costInMicros(price, usage(input, 0)) }]);
    if (text === null) expect(budget.notice()).toBeNull();
    else expect(budget.notice()).toContain(text);
  });

  it('lists what is left for the goal message', () => {
    const budget = new TokenBudget({ tokens: 5000, cost: '2.5' }, engine, { tokens: 1000, costMicros: 500_000 });
    expect(budget.left()).toEqual(['4000 tokens', '2 in money']);
    expect(new TokenBudget({}, engine, nothing).left()).toEqual([]);
  });
});

/** One request of a conversation: what it asks for, and what came back; null: no usage, 'lost': no reply was seen. */
const requests = fc.array(
  fc.record({
    promptTokens: fc.integer({ min: 1, max: 20_000 }),
    maxOutputTokens: fc.integer({ min: 1, max: 8000 }),
    n: fc.integer({ min: 1, max: 4 }),
    used: fc.double({ min: 0, max: 1, noNaN: true }),
    outcome: fc.constantFrom('reported', 'reported', 'silent', 'lost'),
  }),
  { maxLength: 30 },
);
const bounds = fc.record({
  tokens: fc.option(fc.integer({ min: 0, max: 400_000 }), { nil: undefined }),
  cost: fc.option(
    fc.integer({ min: 0, max: 900_000 }).map((micros) => fromMicros(BigInt(micros))),
    { nil: undefined },
  ),
});

describe('every conversation', () => {
  it('stays within its bounds, and a worker that takes over has the same sums', () => {
    fc.assert(
      fc.property(bounds, requests, (own, all) => {
        let live = new TokenBudget(own, engine, nothing);
        const charges: Charge[] = [];
        for (const { used, outcome, ...request } of all) {
          try {
            const reservation = live.reserve(request);
            expect(reservation.maxOutputTokens).toBeLessThanOrEqual(request.maxOutputTokens);
            const { input, output } = reservation.charge.usage;
            const reported = usage(Math.floor(input * used), Math.floor(output * used), { cachedInput: Math.floor((input * used) / 2) });
            if (outcome === 'lost') charges.push(reservation.charge);
            else charges.push(live.settle(reservation, outcome === 'reported' ? reported : null));
          } catch (error) {
            expect((error as AttemptFailure).failureClass).toBe('BudgetExceeded');
          }
          const { tokens, costMicros } = live.spent();
          expect(tokens).toBeLessThanOrEqual(own.tokens ?? Infinity);
          expect(costMicros).toBeLessThanOrEqual(own.cost === undefined ? Infinity : Number(toMicros(own.cost)));
          const restored = new TokenBudget(own, engine, nothing, charges);
          expect(restored.spent()).toEqual(live.spent());
          expect(restored.notice()).toEqual(live.notice());
          // The worker that did not see the reply is gone.
          if (outcome === 'lost') live = restored;
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('what lost workers spent', () => {
  const counts = { toolCalls: 0, cpuMillis: 0, wallSeconds: 0, candidates: 0, vetoes: 0, backtracks: 0 };
  const charges = [
    { usage: usage(100, 20), costMicros: 7 },
    { usage: usage(50, 10, { estimated: true }), costMicros: 3 },
  ];
  it.each([
    ['all when nothing was reported', { tokensIn: 0, tokensOut: 0 }, { usage: usage(150, 30, { estimated: true }), costMicros: 10 }],
    ['the rest', { tokensIn: 100, tokensOut: 20, cost: '0.000007' }, { usage: usage(50, 10, { estimated: true }), costMicros: 3 }],
    ['nothing when all was', { tokensIn: 150, tokensOut: 30, cost: '0.00001' }, null],
    ['nothing when the log came back shorter than the report', { tokensIn: 900, tokensOut: 90, cost: '1' }, null],
  ])('is charged to the next attempt: %s', (_, reported, owed) => {
    expect(owedOf(charges, { ...counts, ...reported })).toEqual(owed);
  });

  const replied = (...own: readonly Partial<TokenUsage>[]): readonly AuditRecord[] =>
    own.map((part, at): AuditRecord => {
      const charged = { usage: usage(100, 20, part), costMicros: 7 };
      const body = { kind: 'ModelReplied', data: { attempt: 2, note: `n${at}`, step: at, request: `r${at}`, proposals: [], charged } };
      return { seq: at, at: '', type: 'Noted', epoch: 1, body, prev: '', hash: '' };
    });
  it.each([
    ['as the log has it', replied({}, {}), {}, { tokens: 240, costMicros: 14 }],
    [
      'what was reported where the log has less since',
      replied({}),
      { tokensIn: 300, tokensOut: 10, cost: '0.00002' },
      { tokens: 320, costMicros: 20 },
    ],
    ['what was reported where the log is empty', [], { tokensIn: 300, tokensOut: 10, cost: '0.00002' }, { tokens: 310, costMicros: 20 }],
    [
      'no less for figures in the log that are none',
      replied({}, { input: -1_000_000 }, { input: Number.NaN }),
      {},
      { tokens: 160, costMicros: 21 },
    ],
  ])('counts after a take-over: %s', async (_, records, reported, spent) => {
    const used = { earlier: { ...counts, tokensIn: 0, tokensOut: 0 }, before: { ...counts, tokensIn: 0, tokensOut: 0, ...reported } };
    const meter = new Meter(systemClock, used, {});
    const context = { assignment: { attempt: 2 }, used };
    const session = { events: (visit: (record: AuditRecord) => void) => Promise.resolve(records.forEach(visit)) };
    const { charges: own } = await readTranscript({ context, session, meter } as unknown as Parameters<typeof readTranscript>[0]);
    expect(new TokenBudget({}, engine, nothing, own).spent()).toEqual(spent);
    const { input, output, cost } = spentBy(own);
    expect([input + output, cost]).toEqual([spent.tokens, spent.costMicros]);
  });

  it('counts against its bounds, and free models owe no money', () => {
    const free = charges.map(({ usage: own }) => ({ usage: own, costMicros: null }));
    const owed = owedOf(free, { ...counts, tokensIn: 0, tokensOut: 0 })!;
    expect(owed.costMicros).toBeNull();
    const budget = new TokenBudget({ tokens: 200 }, { expert: 'gen' }, { tokens: 0, costMicros: 0 }, [owed]);
    expect(budget.left()).toEqual(['20 tokens']);
  });
});
