import { describe, expect, it } from 'vitest';
import { compactionLimit } from './context.ts';
import { longConversation, sumOf } from './testing/longConversation.ts';

const window = { contextTokens: 64_000, maxOutputTokens: 4000 };

describe('a conversation of 60 steps', () => {
  const whole = longConversation(60, window, 'Nothing');
  const kept = longConversation(60, window, 'CutAndCompact');

  it('outgrows the window with whole output, and never with output that is cut and a summary', () => {
    expect(whole.some(({ promptTokens }) => promptTokens + window.maxOutputTokens > window.contextTokens)).toBe(true);
    for (const { promptTokens, isCompaction } of kept) {
      expect(promptTokens).toBeLessThan(isCompaction ? window.contextTokens : compactionLimit(window));
    }
    expect(kept.filter(({ isCompaction }) => isCompaction).length).toBeGreaterThan(0);
  });

  it('reads less than half of the tokens, and sends each once between two compactions', () => {
    expect(sumOf(kept, 'promptTokens') * 2).toBeLessThan(sumOf(whole, 'promptTokens'));
    expect(sumOf(kept, 'newTokens') * 8).toBeLessThan(sumOf(kept, 'promptTokens'));
  });

  it('fits small windows too', () => {
    const small = { contextTokens: 8192, maxOutputTokens: 1024 };
    for (const { promptTokens, isCompaction } of longConversation(60, small, 'CutAndCompact')) {
      expect(promptTokens).toBeLessThan(isCompaction ? small.contextTokens : compactionLimit(small));
    }
  });
});
