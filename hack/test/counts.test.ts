import { describe, expect, test } from 'vitest';
import { countGo, readVitest } from './counts.ts';

describe('test counts', () => {
  test('a report that was never written is a failure, not silence', async () => {
    expect(await readVitest('/nonexistent/report.json')).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  test('go events count tests and broken builds, not packages', () => {
    const lines = [
      '{"Action":"pass","Test":"TestA"}',
      '{"Action":"pass","Package":"p"}',
      '{"Action":"skip","Test":"TestB"}',
      '{"Action":"fail","Test":"TestC"}',
      '{"Action":"build-fail"}',
      'not json',
    ].join('\n');
    expect(countGo(lines)).toEqual({ passed: 1, failed: 2, skipped: 1 });
  });
});
