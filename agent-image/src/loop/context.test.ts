import type { ConversationMessage, ToolDefinition } from '@agentfleet/protocol/chat';
import { describe, expect, it } from 'vitest';
import { AttemptFailure } from '../base/failure.ts';
import {
  assertFits,
  compactionDue,
  corrected,
  dropping,
  initialCorrection,
  observationBound,
  overflowed,
  promptTokens,
  reminder,
  type Rendered,
  type Window,
} from './context.ts';

const system: ConversationMessage = { role: 'System', text: 's'.repeat(400) };
const goal = (tokens: number): ConversationMessage => ({ role: 'User', origin: 'Goal', text: 'g'.repeat(tokens * 4) });
const tool: ToolDefinition = { name: 'bash', description: 'Runs a command.', parameters: { type: 'object' }, risk: 'Execute' };
const step = (n: number, output = 'ok'): ConversationMessage[] => [
  { role: 'Assistant', text: `step ${n}`, calls: [{ id: `c${n}`, name: 'bash', arguments: '{"command":"ls"}' }] },
  { role: 'Tool', callId: `c${n}`, name: 'bash', text: output },
];
const steps = (count: number): ConversationMessage[] => Array.from({ length: count }, (_, n) => step(n)).flat();
const window: Window = { contextTokens: 10_000, maxOutputTokens: 2000 };
const rendered = (messages: ConversationMessage[], own = window): Rendered => ({ messages, tools: [tool], window: own, correction: 1 });

describe('tokens of a prompt', () => {
  it('counts text, calls, state of the provider and tools, and corrects the sum', () => {
    const bare: ConversationMessage = { role: 'Assistant', text: 'x'.repeat(400), calls: [] };
    expect(promptTokens([bare], [], 1)).toBe(104);
    expect(promptTokens([bare], [], 1.5)).toBe(156);
    expect(promptTokens([bare], [tool], 1)).toBeGreaterThan(104);
    expect(promptTokens([{ ...bare, providerState: { signature: 'y'.repeat(400) } }], [], 1)).toBeGreaterThan(200);
    expect(promptTokens([{ ...bare, calls: [{ id: '1', name: 'n', arguments: 'z'.repeat(400) }] }], [], 1)).toBeGreaterThan(200);
  });

  it('learns from what is reported: up at once, down slowly, within bounds', () => {
    expect(corrected(1, { estimated: 100, reported: 150 })).toBe(1.5);
    expect(corrected(1.5, { estimated: 150, reported: 100 })).toBeCloseTo(1.4);
    expect(corrected(1, { estimated: 100, reported: 100_000 })).toBe(4);
    expect(corrected(1, { estimated: 100, reported: 0 })).toBe(1);
    let correction = initialCorrection;
    for (let n = 0; n < 40; n += 1) correction = corrected(correction, { estimated: 1000 * correction, reported: 900 });
    expect(correction).toBeCloseTo(0.9, 2);
  });

  it.for<[estimated: number, reported: number, says: boolean]>([
    [12_000, 4096, true],
    [12_000, 9000, false],
    [12_000, 0, false],
    [2400, 500, false],
  ])('names a server that drops the beginning of prompts: of %i it counted %i', ([estimated, reported, says]) => {
    expect(dropping(1.2, { estimated, reported }).includes('4096 tokens of a prompt of about 10000')).toBe(says);
  });

  it('goes up after a refusal, and reports what is wrong when requests stay too long', () => {
    const after = [initialCorrection];
    const refused = (): number => after.push(overflowed(after.at(-1) ?? 1, window, 'gen'));
    while ((after.at(-1) ?? 4) < 4) refused();
    expect(after).toEqual(after.toSorted((a, b) => a - b));
    expect(after.length).toBeLessThan(8);
    expect(refused).toThrow('set contextTokens of the engine to what the model takes');
  });

  it('is due for a compaction at 70 % of the window without the answer', () => {
    const limit = 0.7 * 8000;
    const fixed = promptTokens([system, goal(100)], [tool], 1);
    const filler = (tokens: number): ConversationMessage => ({
      role: 'Tool',
      callId: 'c',
      name: 'bash',
      text: 'o'.repeat((tokens - 4) * 4),
    });
    expect(compactionDue(rendered([system, goal(100), filler(limit - fixed - 1)]))).toBe(false);
    expect(compactionDue(rendered([system, goal(100), filler(limit - fixed)]))).toBe(true);
  });
});

describe('a window that is too small', () => {
  it.for<[string, number, Window, boolean]>([
    ['a goal of usual length', 500, window, true],
    ['a goal as long as the window', 9000, window, false],
    ['an answer as long as the window', 100, { contextTokens: 4000, maxOutputTokens: 4000 }, false],
    ['a small window', 100, { contextTokens: 2048, maxOutputTokens: 512 }, false],
  ])('is judged for %s', ([, tokens, own, ok]) => {
    const asked = (): void => assertFits(rendered([system, goal(tokens)], own), 'gen');
    if (ok) {
      expect(asked).not.toThrow();
      return;
    }
    try {
      asked();
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(AttemptFailure);
      const { failureClass, reason, message } = error as AttemptFailure;
      expect([failureClass, reason]).toEqual(['InvalidInput', 'ContextTooSmall']);
      expect(message).toContain(`contextTokens of expert gen is ${own.contextTokens}`);
      // The cure is one: with the size that the message names, it fits.
      const needed = Number(/work needs (\d+)/.exec(message)?.[1]);
      expect(() => assertFits(rendered([system, goal(tokens)], { ...own, contextTokens: needed + 2 }), 'gen')).not.toThrow();
    }
  });

  it('bounds the observations of one step together, and gives what is left to the calls that follow', () => {
    expect(observationBound(100_000, 1)).toEqual({ tokens: 4000, whole: 4000 });
    expect(observationBound(5000, 1)).toEqual({ tokens: 2000, whole: 2000 });
    expect(observationBound(5000, 1, 1500)).toEqual({ tokens: 500, whole: 500 });
    expect(observationBound(5000, 3)).toEqual({ tokens: 1000, whole: 1700 });
    expect(observationBound(100, 16)).toEqual({ tokens: 150, whole: 150 });
    for (const part of ['tokens', 'whole'] as const) {
      let used = 0;
      for (let calls = 16; calls > 0; calls -= 1) used += observationBound(20_000, calls, used)[part];
      expect(used).toBeLessThanOrEqual(8000 + 150 * 16);
    }
  });
});

describe('reminders', () => {
  const reminded = {
    goal: 'Mend add().',
    constraints: ['Protected: tests/**.'],
    left: [],
    plan: [
      { text: 'read', state: 'Done' as const },
      { text: 'edit', state: 'Active' as const },
      { text: 'check', state: 'Open' as const },
    ],
  };
  const notice: ConversationMessage = { role: 'User', origin: 'Notice', text: reminder(steps(8), reminded) ?? 'none' };
  const long = 'o'.repeat(16_000);

  it.for<[string, ConversationMessage[], boolean, (typeof reminded)['plan']?]>([
    ['is not due at the beginning', [], false],
    ['is not due after 7 steps', steps(7), false],
    ['is due after 8 steps', steps(8), true],
    ['is not due again at once', [...steps(8), notice, ...steps(1)], false],
    ['is due 8 steps later', [...steps(8), notice, ...steps(8)], true],
    ['is due after long output', [...steps(2), ...step(3, long)], true],
    ['is not due after long output without an open plan', [...steps(2), ...step(3, long)], false, [{ text: 'read', state: 'Done' }]],
    ['is not due after each of several long outputs', [...steps(8), notice, ...step(1, long), ...step(2, long)], false],
    ['is not due right after a summary', [{ role: 'User', origin: 'Summary', text: 's' }, ...steps(7)], false],
    ['counts other notices for nothing', [...steps(4), { role: 'User', origin: 'Notice', text: 'n' }, ...steps(4)], true],
  ])('%s', ([, history, due, plan = reminded.plan]) => {
    expect(reminder(history, { ...reminded, plan }) !== null).toBe(due);
  });

  const cut: ConversationMessage[] = [{ role: 'User', origin: 'Summary', text: 's' }, ...steps(8)];
  const large = { ...reminded, goal: 'Mend add(). '.repeat(3000), left: ['Budget left now: 9 tokens.'] };

  it('repeats goal, limits and the open part of the plan once the conversation was cut, a long goal in short', () => {
    const text = reminder(cut, reminded) ?? '';
    for (const part of ['Mend add().', '- Protected: tests/**.', 'Open plan\n- (done) read', '- (now) edit', '- check'])
      expect(text).toContain(part);
    expect(text).not.toContain('- read');
    expect((reminder(cut, large) ?? '').length).toBeGreaterThan(1000);
    expect((reminder(cut, large) ?? '').length).toBeLessThan(3000);
  });

  it('has them once after each cut, and the goal in short after that', () => {
    const again = [...cut, { ...notice, text: reminder(cut, large) ?? '' }, ...steps(8)];
    expect(reminder(again, large)).toMatch(/\n\nGoal, its beginning/);
    expect(reminder(again, large)).not.toContain('Protected');
    expect(reminder([...again, ...cut], large)).toContain('Protected');
  });

  it.for<[string, string, RegExp]>([
    ['a short goal whole', 'Mend add().\nKeep sub() as it is', /\n\nGoal: Mend add\(\)\. Keep sub\(\) as it is\n\n/],
    ['whole sentences of a longer one', large.goal, /\n\nGoal, its beginning \(the first message has it whole, with the limits\): (?:Mend add\(\)\. ?){5,}\n\n/],
    ['no sentence that does not end', 'mend '.repeat(60), /\n\nGoal: the first message has it whole, with the limits\.\n\n/],
  ])('has %s while all of the conversation is there', ([, goal, quoted]) => {
    expect(reminder(steps(8), { ...reminded, goal })).toMatch(quoted);
  }); // prettier-ignore

  it('has no limits while all of the conversation is there', () => {
    const text = reminder(steps(8), large) ?? '';
    expect(text).toMatch(/^Reminder: nothing new is asked\. Go on; submit only when all of the goal is reached\./);
    for (const part of ['Budget left now: 9 tokens.', '- (now) edit', '- check']) expect(text).toContain(part);
    expect(text).not.toContain('Protected');
    expect(text.length).toBeLessThan(500);
  });
});
